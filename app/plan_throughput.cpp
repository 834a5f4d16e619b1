// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan throughput`: rate against distance and message size: standard, deep queues, with a pair.
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/command_guard.hpp"
#include "app/plan_commands.hpp"
#include "app/plan_options.hpp"
#include "plan/throughput.hpp"

namespace longhaul::app {
namespace {

struct Arguments {
  PlanLink link;
  PlanOutput output;
  plan::Scenario scenario;
  plan::Hosts deep;
  std::vector<std::string> messages;
  std::string turnaround = "2us";
  std::string message_time = "0";
  std::string cap;
  std::string local_rtt = "4us";
  std::string frame_time = "300ns";
  bool latency = false;

  Arguments() {
    deep.depth = 2048;
    deep.nic_depth = 16384;
  }
};

int run(const Arguments& arguments) {
  plan::ThroughputQuestion question;
  question.scenario = arguments.scenario;
  question.round_trips = arguments.link.read_round_trips();
  question.messages = arguments.messages.empty() ? plan::usual_messages() : read_messages(arguments.messages);
  question.latency = arguments.latency;
  question.deep = arguments.deep;
  question.deep.read_depth = arguments.scenario.hosts.read_depth;
  plan::Scenario& scenario = question.scenario;
  scenario.link.rate_bps = scenario.hosts.rate_bps = arguments.link.read_rate();
  scenario.hosts.turnaround = read_option("--turnaround", arguments.turnaround, config::parse_duration);
  scenario.hosts.message_time = read_option("--message-time", arguments.message_time, config::parse_duration);
  scenario.pair.local_round_trip = read_option("--local-rtt", arguments.local_rtt, config::parse_duration);
  scenario.pair.frame_time = read_option("--frame-time", arguments.frame_time, config::parse_duration);
  if (!arguments.cap.empty()) {
    scenario.cap_bps = read_option("--cap", arguments.cap, config::parse_rate);
    if (scenario.cap_bps == 0 || scenario.cap_bps > scenario.link.rate_bps)
      throw config::ConfigError(
          fmt::format("--cap: expected more than 0 and at most the rate of the line, got \"{}\"", arguments.cap));
  }
  try {
    const plan::Report report = plan::report(question);
    if (arguments.output.plot.empty())
      arguments.output.give(report);
    else
      arguments.output.give(report, plan::plot(question));
  } catch (const std::invalid_argument& error) {
    throw config::ConfigError(error.what());
  }
  return 0;
}

}  // namespace

void add_plan_throughput(CLI::App& plan, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  plan::Hosts& hosts = arguments->scenario.hosts;
  plan::Pair& pair = arguments->scenario.pair;
  CLI::App* command = plan.add_subcommand(
      "throughput", "rate by distance and message size: standard, deep queues, with a pair of boxes");
  command->footer(
      "Payload per second is the least of: the line; QPs x messages under way x size / (RTT + turnaround); the NIC's\n"
      "message rate; with the pair the loop to the near box instead of the RTT, and the frames that a worker takes "
      "in.\n"
      "Under way are what is posted, what the NIC sends before it has an answer, and for READ 16 a QP, whichever is "
      "least.\n"
      "Examples:\n"
      "  longhaul plan throughput --distance 100km --plot link.svg\n"
      "  longhaul plan throughput --distance 10km 100km 1000km --message 64KiB --plot distance.png\n"
      "  longhaul plan throughput --rtt 3.81ms --operation read --qps 16 --latency --csv\n"
      "How often a box takes in a frame (--frame-time): docs/performance.md has 163 to 550 ns, by machine and size.");
  const auto number = [command](const char* name, std::uint32_t& value, const std::string& help) {
    return command->add_option(name, value, help)->type_name("N")->check(CLI::Range(1u, 1u << 24));
  };
  arguments->link.add_to(*command, "; several are rows");
  command->add_option("--message", arguments->messages, "message sizes (default: 2B to 8MiB)")->type_name("SIZE");
  add_operation(*command, arguments->scenario.operation);
  add_path_mtu(*command, hosts.path_mtu);
  number("--qps", hosts.qps, "queue pairs (default 1)");
  number("--depth", hosts.depth, "work requests posted on a QP (default 128; perftest -t)");
  number("--moderation", hosts.moderation, "a completion of every nth only (default 1; perftest -Q)");
  command
      ->add_option("--nic-depth", hosts.nic_depth,
                   "work requests of a QP in the NIC, 2^LOG_MAX_OUTSTANDING_WQE (default 0: all that are posted)")
      ->type_name("N");
  number("--read-depth", hosts.read_depth, "READs of a QP without an answer (default 16; max_qp_rd_atom)");
  number("--deep-depth", arguments->deep.depth, "of the deep queues: posted (default 2048)");
  command
      ->add_option("--deep-nic-depth", arguments->deep.nic_depth,
                   "of the deep queues: in the NIC (default 16384; 0: all that are posted)")
      ->type_name("N");
  command->add_option("--turnaround", arguments->turnaround, "of NICs and application beside the link (default 2us)")
      ->type_name("TIME");
  command->add_option("--message-time", arguments->message_time, "a NIC begins a message of a QP so often (default 0)")
      ->type_name("TIME");
  command->add_option("--cap", arguments->cap, "payload that the line carries (default: computed from the headers)")
      ->type_name("RATE");
  command->add_option("--local-rtt", arguments->local_rtt, "from a host to its box and back (default 4us)")
      ->type_name("TIME");
  command->add_option("--frame-time", arguments->frame_time, "a worker of a box takes in a frame (default 300ns)")
      ->type_name("TIME");
  number("--workers", pair.workers, "of a box; a connection stays with one (default 1)");
  command->add_flag("--latency", arguments->latency, "also what one message alone takes");
  arguments->output.add_to(*command);
  command->callback(
      [arguments, &exit_code] { exit_code = guarded("plan throughput", [&] { return run(*arguments); }); });
}

}  // namespace longhaul::app
