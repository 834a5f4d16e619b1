// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan buffer`: custody for a distance, a rate and losses, as a valid configuration.
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "app/box/memory_report.hpp"
#include "app/command/guard.hpp"
#include "app/command/validators.hpp"
#include "app/plan/options.hpp"
#include "app/plan/plan_subcommands.hpp"
#include "config/box_config.hpp"
#include "config/quantity.hpp"
#include "engine/settings.hpp"
#include "plan/buffer.hpp"

namespace longhaul::app {
namespace {

constexpr double kMostLoss = 0.5;
constexpr Duration kGiveUp = engine::Settings{}.give_up;
constexpr Duration kLongestOutage = kGiveUp - seconds(10);
constexpr std::uint32_t kLeastRoceMtu = 576;  // what each IPv4 host takes (RFC 791); a path MTU of 256 fits into it

struct BufferArguments {
  PlanLink link;
  PlanOutput output;
  plan::BufferQuestion question;
  std::string loss = "0";
  std::string outage = "0";
  std::string frame;
  std::uint32_t mtu = 0;
  bool config = false;
};

/// The port MTU for `path_mtu`: 4096 bytes of payload and the headers, or jumbo frames, because ports with a smaller
/// path MTU usually carry other traffic too (docs/operate/sizing.md).
std::uint32_t port_mtu(std::uint32_t path_mtu) { return path_mtu == 4096 ? 4200 : 9000; }

std::string made_by(const BufferArguments& arguments) {
  const std::string& rate = arguments.link.rate;
  std::string out = "longhaul plan buffer";
  if (rate.empty() && arguments.link.preset != nullptr)
    out += fmt::format(" --preset {}", arguments.link.preset->name);
  else
    out += " --rate " + (rate.empty() ? "100Gbps" : rate);
  for (const std::string& text : arguments.link.distances) out += " --distance " + text;
  for (const std::string& text : arguments.link.round_trips) out += " --rtt " + text;
  if (arguments.loss != "0") out += " --loss " + arguments.loss;
  if (arguments.outage != "0") out += " --burst " + arguments.outage;
  out += fmt::format(" --path-mtu {}", arguments.question.path_mtu);
  if (!arguments.frame.empty()) out += " --frame " + arguments.frame;
  return out;
}

plan::BufferQuestion read(const BufferArguments& arguments) {
  plan::BufferQuestion question = arguments.question;
  question.link = arguments.link.read();
  question.loss = read_option("--loss", arguments.loss, config::parse_fraction);
  if (question.loss > kMostLoss)
    throw config::ConfigError(fmt::format("--loss: expected at most {}: a path that loses more is unusable, got \"{}\"",
                                          kMostLoss, arguments.loss));
  question.outage = read_option("--burst", arguments.outage, config::parse_duration);
  if (question.outage > kLongestOutage)
    throw config::ConfigError(fmt::format("--burst: expected at most {} (connections fail after {}), got \"{}\"",
                                          config::duration_text(kLongestOutage), config::duration_text(kGiveUp),
                                          arguments.outage));
  question.mtu = port_mtu(question.path_mtu);
  if (arguments.mtu != 0) question.mtu = arguments.mtu;
  question.least_frame = question.path_mtu;
  if (!arguments.frame.empty())
    question.least_frame = static_cast<std::uint32_t>(read_option("--frame", arguments.frame, config::parse_size));
  return question;
}

int run(const BufferArguments& arguments) {
  const plan::BufferQuestion question = read(arguments);
  const plan::Custody custody = plan::custody_for(question);
  const std::string text = plan::configuration(question, custody, made_by(arguments));
  // What `longhaul run --check` would say about it, and whether it would refuse it.
  const config::BoxConfig config = config::read_box(config::Value::parse(text, "the configuration for this"));
  if (arguments.config) {
    print_answer(text);
    return 0;
  }
  const MemoryReport memory =
      report_memory(config, {"host", config.host.pci, config.host.vdev}, {"wan", config.wan.pci, config.wan.vdev});
  plan::BoxMemoryNeed need;
  need.reserve = memory.json.at("reserve_bytes").get<std::uint64_t>();
  need.ordinary = memory.json.at("ordinary_bytes").get<std::uint64_t>();
  need.promised = memory.json.at("promised_bytes").get<std::uint64_t>();
  const plan::Report report = plan::report(question, custody, need, text);
  arguments.output.give(report, [&] { return plan::plot(question); });
  return 0;
}

}  // namespace

void add_plan_buffer(CLI::App& plan, int& exit_code) {
  const auto arguments = std::make_shared<BufferArguments>();
  CLI::App* command = plan.add_subcommand(
      "buffer", "memory of a box for a distance, a rate and losses, as a configuration ready to load");
  command->footer(
      "Custody holds what is sent until the far host has answered: rate x (round trip + time of repairs). Only the\n"
      "near box repairs: the first loss of a packet costs a round trip, each further loss a resend timer as well.\n"
      "Examples:\n"
      "  longhaul plan buffer --rate 100Gbps --distance 1000km\n"
      "  longhaul plan buffer --rate 100Gbps --distance 1000km --loss 1e-6 --burst 50ms --config > box.yaml\n"
      "  longhaul run --config box.yaml --check\n"
      "Distances are fibre lengths without queueing: where you can, give a measured round trip plus 10 % (--rtt).");
  arguments->link.add_to(*command);
  command->add_option("--loss", arguments->loss, "fraction of packets that the path loses, such as 1e-6 (default 0)")
      ->type_name("FRACTION");
  command
      ->add_option("--burst", arguments->outage, "longest outage to hide from the hosts, such as 50ms (default none)")
      ->type_name("TIME");
  add_path_mtu(*command, arguments->question.path_mtu, "--path-mtu");
  command
      ->add_option(
          "--frame", arguments->frame,
          "smallest frame that the custody promise covers (default: the path MTU); smaller frames take more buffers")
      ->type_name("SIZE");
  command->add_option("--mtu", arguments->mtu, "MTU of the box's ports (default 4200 for path MTU 4096, else 9000)")
      ->type_name("BYTES")
      ->check(whole_number(kLeastRoceMtu, config::kMostMtu));
  command
      ->add_option(
          "--connections", arguments->question.connections,
          fmt::format("connections that the box follows at once (default {})", arguments->question.connections))
      ->type_name("N")
      ->check(whole_number(1, config::kMostConnections));
  CLI::Option* config = command->add_flag("--config", arguments->config, "print only the configuration");
  arguments->output.add_to(*command);
  for (const char* other : {"--json", "--csv", "--plot"}) config->excludes(command->get_option(other));
  command->callback([arguments, &exit_code] { exit_code = guarded("plan buffer", [&] { return run(*arguments); }); });
}

}  // namespace longhaul::app
