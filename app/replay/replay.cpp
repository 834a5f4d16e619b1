// SPDX-License-Identifier: BSD-3-Clause
// `longhaul replay`: reads a capture, writes what the box would have sent, and says how well its answers agree with the
// real ones.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/command/subcommands.hpp"
#include "app/command/validators.hpp"
#include "app/process/owned_pools.hpp"
#include "base/policy.hpp"
#include "config/quantity.hpp"
#include "drivers/capture_reader.hpp"
#include "drivers/capture_writer.hpp"
#include "drivers/eal.hpp"
#include "engine/pools.hpp"
#include "replay/report.hpp"
#include "replay/runner.hpp"

namespace longhaul::app {
namespace {

constexpr int kAgreed = 0;
constexpr int kDisagreed = 1;
constexpr int kUnusable = 2;

/// Enough for what a box has in custody at once: a capture is read frame by frame.
constexpr std::uint32_t kFrames = 8192;
constexpr std::uint32_t kSmallFrames = 16384;
constexpr std::uint64_t kEalReserve = 32ull << 20;  // EAL's own tables

struct Arguments {
  std::string input;
  std::vector<std::string> near;
  flow::Policy policy = flow::Policy::full;
  engine::Confirm confirm = engine::Confirm::answer;
  std::string wan_rate = "0";
  std::string host_out;
  std::string wan_out;
  bool json = false;
};

/// The files for what leaves the two ports. A side without a file is only counted.
class CaptureOutput final : public replay::Output {
 public:
  CaptureOutput(const std::string& host, const std::string& wan) {
    if (!host.empty()) host_.emplace(host);
    if (!wan.empty()) wan_.emplace(wan);
  }
  void write(Side out, std::span<const std::uint8_t> frame, Time at) override {
    auto& writer = out == Side::host ? host_ : wan_;
    if (writer) writer->write(frame, at);
  }
  void flush() {
    if (host_) host_->flush();
    if (wan_) wan_->flush();
  }

 private:
  std::optional<drivers::CaptureWriter> host_;
  std::optional<drivers::CaptureWriter> wan_;
};

std::vector<flow::Prefix> parse_prefixes(const std::vector<std::string>& texts) {
  std::vector<flow::Prefix> prefixes;
  for (const auto& text : texts) prefixes.push_back(flow::Prefix::parse(text));
  return prefixes;
}

/// Opening an output truncates it. So it must be neither the capture that is read nor the other output.
void check_files(const Arguments& arguments) {
  const auto same = [](const std::string& one, const std::string& other) {
    std::error_code absent;  // a file that does not exist yet is not the same as another
    return !one.empty() && !other.empty() && (one == other || std::filesystem::equivalent(one, other, absent));
  };
  if (same(arguments.input, arguments.host_out))
    throw std::runtime_error(arguments.host_out + ": --host-out would overwrite the capture");
  if (same(arguments.input, arguments.wan_out))
    throw std::runtime_error(arguments.wan_out + ": --wan-out would overwrite the capture");
  if (same(arguments.host_out, arguments.wan_out))
    throw std::runtime_error(arguments.wan_out + ": --host-out and --wan-out are the same file");
}

int run_replay(const Arguments& arguments) {
  check_files(arguments);
  const auto near = parse_prefixes(arguments.near);
  const std::uint64_t wan_rate = config::parse_rate(arguments.wan_rate);
  drivers::CaptureReader reader(arguments.input);
  CaptureOutput output(arguments.host_out, arguments.wan_out);

  engine::PoolPlan plan;
  plan.name = "replay";
  plan.frames = kFrames;
  plan.small_frames = kSmallFrames;
  drivers::EalOptions eal_options;
  eal_options.hugepages = false;
  eal_options.memory_bytes = engine::Pools::bytes_needed(plan) + kEalReserve;
  const drivers::Eal eal(eal_options);
  const OwnedPools pools(plan);

  engine::Settings settings;
  settings.policies.fallback = arguments.policy;
  settings.confirm = arguments.confirm;
  settings.wan_rate_bps = wan_rate;
  settings.estimate_wan_rate = false;    // the answers in a capture do not come later if requests do
  settings.custody_mbufs = kFrames / 2;  // the rest is for frames on their way through
  replay::Runner runner(settings, pools.get(), near, output);

  drivers::CapturedFrame frame;
  while (reader.next(frame)) runner.feed(frame.bytes, frame.cut_short(), frame.time);
  const replay::Result result = runner.finish();
  output.flush();

  const std::string report = arguments.json ? replay::to_json(result, runner.comparison()).dump(2) + "\n"
                                            : replay::to_text(result, runner.comparison());
  if (std::fputs(report.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw std::runtime_error("cannot write the report to standard output");
  }
  const bool agreed = runner.comparison().real_acks_mismatched == 0 && replay::sums_to_input(result);
  return agreed ? kAgreed : kDisagreed;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("replay", "send a capture through a box and compare its answers with the real ones");
  command->footer(
      "Frames of the hosts in --near enter the host port, all others the WAN port, at the times of the capture.\n"
      "Time ends with the last frame: frames held for a later moment are reported as waiting.\n"
      "Exit status: 0 all pseudo-ACKs agree with the real ACKs; 1 some differ; 2 wrong usage or unreadable file.");
  command->add_option("capture", arguments->input, "pcap or pcapng file")->required()->type_name("FILE");
  command
      ->add_option("--near", arguments->near,
                   "prefix of the hosts on the host port's side, such as 10.9.0.0/24; may be repeated")
      ->required()
      ->type_name("PREFIX");
  std::vector<std::pair<std::string, Policy>> policies;
  for (std::size_t i = 0; i < kPolicies; ++i) policies.emplace_back(kPolicyNames[i], static_cast<Policy>(i));
  add_choice(*command, "--policy", arguments->policy, std::move(policies),
             "policy of the box for learned flows (default full)");
  add_choice<engine::Confirm>(*command, "--confirm", arguments->confirm,
                              {{"answer", engine::Confirm::answer}, {"cm", engine::Confirm::cm}},
                              "accelerate a flow after one real answer (default), or from the RDMA-CM exchange on");
  command->add_option("--wan-rate", arguments->wan_rate, "rate of the WAN port, such as 100Gbps (default unlimited)")
      ->type_name("RATE");
  command->add_option("--host-out", arguments->host_out, "write what leaves the host port to this pcap file")
      ->type_name("FILE");
  command->add_option("--wan-out", arguments->wan_out, "write what leaves the WAN port to this pcap file")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] {
    try {
      exit_code = run_replay(*arguments);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "longhaul replay: %s\n", error.what());
      exit_code = kUnusable;
    }
  });
}

}  // namespace longhaul::app
