// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan throughput`: rate by distance and message size, for standard queues, deep queues and a pair.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/command/guard.hpp"
#include "app/plan/options.hpp"
#include "app/plan/plan_subcommands.hpp"
#include "app/plan/scenario.hpp"
#include "plan/throughput.hpp"

namespace longhaul::app {
namespace {

struct ThroughputArguments {
  PlanScenario scenario;
  PlanOutput output;
  bool latency = false;
  std::string tcp_window;
  std::string tcp_loss = "0";
};

int run(const ThroughputArguments& arguments) {
  plan::ThroughputQuestion question = arguments.scenario.read(plan::usual_messages());
  question.latency = arguments.latency;
  if (!arguments.tcp_window.empty()) {
    question.tcp.window = read_option("--tcp-window", arguments.tcp_window, config::parse_size);
    if (question.tcp.window == 0) throw config::ConfigError("--tcp-window: expected more than 0");
  }
  question.tcp.loss = read_option("--tcp-loss", arguments.tcp_loss, config::parse_fraction);
  try {
    const plan::Report report = plan::report(question);
    arguments.output.give(report, [&] { return plan::plot(question); });
  } catch (const std::invalid_argument& error) {
    throw config::ConfigError(error.what());
  }
  return 0;
}

}  // namespace

void add_plan_throughput(CLI::App& plan, int& exit_code) {
  const auto arguments = std::make_shared<ThroughputArguments>();
  CLI::App* command = plan.add_subcommand(
      "throughput", "rate by distance and message size: standard, with deep queues, with a pair of boxes");
  command->footer(
      "Payload per second is the smallest of: the line; QPs x messages under way x size / (RTT + turnaround); the\n"
      "NIC's message rate. With the pair, the round trip to the near box replaces the RTT, and the frame rate of a\n"
      "worker is a further limit.\n"
      "Messages under way on a QP are the smallest of: those posted; those that the NIC sends before it has an\n"
      "answer; for READ, 16.\n"
      "Examples:\n"
      "  longhaul plan throughput --distance 100km --plot link.svg\n"
      "  longhaul plan throughput --distance 10km 100km 1000km --message 64KiB --plot distance.png\n"
      "  longhaul plan throughput --rtt 3.81ms --operation read --qps 16 --latency --csv\n"
      "  longhaul plan throughput --preset 400G --distance 1000km --tcp-loss 1e-6\n"
      "For --frame-time, docs/performance.md lists 163 to 550 ns as measured, depending on machine and frame size.");
  arguments->scenario.add_to(*command);
  command->add_flag("--latency", arguments->latency, "also show the latency of one message alone");
  command->add_option("--tcp-window", arguments->tcp_window, "TCP beside it: window of a connection (default 6MiB)")
      ->type_name("SIZE");
  command
      ->add_option("--tcp-loss", arguments->tcp_loss, "TCP beside it: fraction of segments that are lost (default 0)")
      ->type_name("FRACTION");
  arguments->output.add_to(*command);
  command->callback(
      [arguments, &exit_code] { exit_code = guarded("plan throughput", [&] { return run(*arguments); }); });
}

}  // namespace longhaul::app
