// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay/arguments.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <limits>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "app/command/validators.hpp"
#include "app/replay/annotated_file.hpp"

namespace longhaul::app {
namespace {

constexpr const char* kFooter =
    "Frames of the hosts in --near enter the host port, all others the WAN port, at the times of the capture.\n"
    "Time ends with the last frame: frames held for a later moment are reported as waiting.\n"
    "\n"
    "  longhaul replay write.pcap --near 10.9.0.2                    one capture, judged\n"
    "  longhaul replay write.pcap --near 10.9.0.2 --explain          and why each connection was accelerated or not\n"
    "  longhaul replay *.pcap.zst --near 10.9.0.0/24 --junit r.xml   many, with a report for CI\n"
    "  longhaul replay *.pcap --near 10.9.0.2 --write-expect e.json  writes down what each gives;\n"
    "  longhaul replay *.pcap --near 10.9.0.2 --expect e.json        later runs must give the same\n"
    "\n"
    "Exit status: 0 all pseudo-ACKs agree with the real ACKs; 1 some differ, or a demand is not met; 2 wrong usage or\n"
    "unreadable file; 3 nothing was compared, such as when --near fits no host. Of several captures, the first of\n"
    "2, 1 and 3 that one of them gives.";

CLI::Option* add_file(CLI::App& command, const std::string& name, std::string& value, const std::string& help) {
  return command.add_option(name, value, help)->type_name("FILE");
}

void add_judging(CLI::App& command, ReplayArguments& arguments) {
  const auto any = whole_number(0, std::numeric_limits<std::int64_t>::max());
  command
      .add_option("--min-matched", arguments.demands.min_matched,
                  "real ACKs that must match in each capture; 0: it is fine if nothing is compared")
      ->type_name("NUMBER")
      ->check(any);
  command
      .add_option("--max-unmatched", arguments.demands.max_unmatched,
                  "real ACKs that may have no pseudo-ACK in each capture")
      ->type_name("NUMBER")
      ->check(any);
  CLI::Option* const expect = add_file(command, "--expect", arguments.expect,
                                       "demand the counters in this file, of each capture and each of its flows");
  add_file(command, "--write-expect", arguments.write_expect, "write the counters to this file, for --expect")
      ->excludes(expect);
}

void add_output(CLI::App& command, ReplayArguments& arguments) {
  add_file(command, "--host-out", arguments.host_out, "write what leaves the host port to this pcap file");
  add_file(command, "--wan-out", arguments.wan_out, "write what leaves the WAN port to this pcap file");
  add_file(command, "--annotated-out", arguments.annotated_out,
           "write both ports to this pcapng file, with a comment on each frame that the box made, absorbed "
           "or changed; for several captures a directory");
  add_file(command, "--junit", arguments.junit, "write the results to this file, as JUnit XML");
  command.add_flag("--explain", arguments.explain,
                   "say of each connection why it was accelerated or not: how it was learned, when it was confirmed, "
                   "and for what its requests passed plain");
  command.add_flag("--json", arguments.json, "print one JSON object; several captures are in its \"captures\"");
  command.add_flag("--quiet", arguments.quiet, "show no progress on the terminal");
}

}  // namespace

void add_options(CLI::App& command, ReplayArguments& arguments) {
  command.footer(kFooter);
  command
      .add_option("capture", arguments.captures,
                  "pcap or pcapng files, also compressed by gzip or zstd; - is standard input")
      ->required()
      ->type_name("FILE");
  // One prefix each time, or the captures that follow would be taken for prefixes.
  command
      .add_option("--near", arguments.near,
                  "prefix of the hosts on the host port's side, such as 10.9.0.0/24; may be repeated")
      ->required()
      ->type_name("PREFIX")
      ->allow_extra_args(false);
  std::vector<std::pair<std::string, Policy>> policies;
  for (std::size_t i = 0; i < kPolicies; ++i) policies.emplace_back(kPolicyNames[i], static_cast<Policy>(i));
  add_choice(command, "--policy", arguments.policy, std::move(policies),
             "policy of the box for learned flows (default full)");
  add_choice<engine::Confirm>(command, "--confirm", arguments.confirm,
                              {{"answer", engine::Confirm::answer}, {"cm", engine::Confirm::cm}},
                              "accelerate a flow after one real answer (default), or from the RDMA-CM exchange on");
  command.add_option("--wan-rate", arguments.wan_rate, "rate of the WAN port, such as 100Gbps (default unlimited)")
      ->type_name("RATE");
  add_judging(command, arguments);
  add_output(command, arguments);
}

void check_files(const ReplayArguments& arguments) {
  if (arguments.captures.size() > 1) {
    if (!arguments.host_out.empty() || !arguments.wan_out.empty())
      throw std::runtime_error("--host-out and --wan-out are for one capture: replay the others by themselves");
    std::error_code absent;
    if (!arguments.annotated_out.empty() && !std::filesystem::is_directory(arguments.annotated_out, absent))
      throw std::runtime_error(fmt::format(
          "--annotated-out {}: for several captures it must be a directory that exists", arguments.annotated_out));
  }
  struct File {
    const char* option;
    std::string path;
    bool written;
  };
  std::vector<File> files;
  for (const auto& capture : arguments.captures) files.push_back({"the capture", capture, false});
  files.push_back({"--expect", arguments.expect, false});
  files.push_back({"--host-out", arguments.host_out, true});
  files.push_back({"--wan-out", arguments.wan_out, true});
  for (const auto& capture : arguments.captures)
    files.push_back({"--annotated-out", annotated_path(arguments.annotated_out, capture), true});
  files.push_back({"--write-expect", arguments.write_expect, true});
  files.push_back({"--junit", arguments.junit, true});
  const auto same = [](const std::string& one, const std::string& other) {
    std::error_code absent;  // a file that does not exist yet is not the same as another
    return one == other || std::filesystem::equivalent(one, other, absent);
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].written || files[i].path.empty()) continue;
    for (std::size_t other = 0; other < i; ++other) {
      // Anything may be written to /dev/null.
      if (files[other].path.empty() || !same(files[i].path, files[other].path) ||
          std::filesystem::is_character_file(files[i].path))
        continue;
      throw std::runtime_error(
          fmt::format("{}: {} would overwrite {}", files[i].path, files[i].option, files[other].option));
    }
  }
}

}  // namespace longhaul::app
