// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan simulate`: the questions of `plan throughput`, answered by the real engine in virtual time.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/command/guard.hpp"
#include "app/command/validators.hpp"
#include "app/plan/options.hpp"
#include "app/plan/plan_subcommands.hpp"
#include "app/plan/scenario.hpp"
#include "app/process/owned_pools.hpp"
#include "drivers/eal.hpp"
#include "drivers/system_memory.hpp"
#include "plan/bars.hpp"
#include "plan/simulated.hpp"
#include "plan/text.hpp"

namespace longhaul::app {
namespace {

constexpr std::uint64_t kEalReserve = 64ull << 20;  // EAL's own tables
constexpr std::uint64_t kWorldReserve = 512ull << 20;

struct SimulateArguments {
  PlanScenario scenario;
  PlanOutput output;
  std::vector<std::string> ways;
  std::uint64_t messages = 0;
  std::string loss = "0";
  std::uint64_t seed = 1;
  bool bars = false;
  bool quiet = false;
};

void check_memory(std::uint64_t wanted) {
  const std::uint64_t there = drivers::SystemMemory::read().available_bytes;
  if (there == 0 || wanted + kWorldReserve <= there) return;
  throw std::runtime_error(fmt::format(
      "the frames under way need {} of memory, but {} are free: choose a shorter distance, larger messages or fewer "
      "messages (--messages)",
      bytes_text(static_cast<double>(wanted + kWorldReserve)), bytes_text(static_cast<double>(there))));
}

/// Shows the current step, if standard error is a terminal.
class Progress {
 public:
  explicit Progress(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void at(std::size_t number, std::size_t of, const plan::SimulatedPoint& point) const {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[Krun {} of {}: {}, {} messages of {} over {}", number + 1, of, point.way,
               point.run.messages, size_text(point.run.scenario.message),
               plan::distance_text(point.run.scenario.link.round_trip));
    std::fflush(stderr);
  }

 private:
  bool shown_;
};

const std::vector<std::uint64_t> kUsualSizes = {64, 256, 512, 1024, 4096, 8192, 65536};

int run(const SimulateArguments& arguments) {
  plan::SimulationQuestion question;
  question.throughput = arguments.scenario.read(kUsualSizes);
  question.messages = arguments.messages;
  question.seed = arguments.seed;
  const double loss = read_option("--loss", arguments.loss, config::parse_fraction);
  question.loss_ppm = static_cast<std::uint32_t>(loss * 1e6 + 0.5);
  question.ways = arguments.ways;
  // Without losses boxes alone are as a pair.
  if (question.ways.empty())
    question.ways =
        question.loss_ppm == 0 ? std::vector<std::string>{"standard", "deep", "pair"} : plan::simulated_ways();
  if (loss > 0 && question.loss_ppm == 0)
    throw config::ConfigError("--loss: the testbed cannot simulate less than 1e-6: give 0, or at least 1e-6");
  if (question.throughput.scenario.cap_bps != 0)
    throw config::ConfigError(
        "--cap works only with the formulas: the testbed's lines carry what headers and gaps leave");

  std::vector<plan::SimulatedPoint> points;
  engine::PoolPlan buffers;
  try {
    points = plan::points_of(question);
    // A picture that cannot be drawn is refused before the runs, not after them.
    if (arguments.bars || !arguments.output.plot.empty()) plan::plot(question, points);
    buffers = plan::pools_for(points);
  } catch (const std::invalid_argument& error) {
    throw config::ConfigError(error.what());
  }
  drivers::EalOptions options;
  options.program = "plan";
  options.hugepages = false;
  options.memory_bytes = engine::Pools::bytes_needed(buffers) + kEalReserve;
  check_memory(options.memory_bytes);
  const drivers::Eal eal(options);
  const OwnedPools pools(buffers);
  {
    const Progress progress(!arguments.quiet);
    for (std::size_t i = 0; i < points.size(); ++i) {
      progress.at(i, points.size(), points[i]);
      points[i].simulation = plan::simulate(points[i].run, pools.get());
    }
  }
  plan::Report report = plan::report(question, points);
  if (arguments.bars) report.picture = plan::bars(plan::plot(question, points));
  arguments.output.give(report, [&] { return plan::plot(question, points); });
  return 0;
}

}  // namespace

void add_plan_simulate(CLI::App& plan, int& exit_code) {
  const auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* command = plan.add_subcommand("simulate", "throughput by simulation: the real engine in virtual time");
  command->footer(
      "Each row is one run of a transfer tool like perftest: the hosts exchange a message, then the clock runs from\n"
      "the first post to the last completion. NICs, line and propagation are modelled; the boxes run the engine of\n"
      "`longhaul run`; all bytes and answers are checked against docs/design.md. Next to the result is that of the\n"
      "formula, with the reason where the two differ by more than 5 %. The same command gives the same figures on\n"
      "every machine.\n"
      "Examples:\n"
      "  longhaul plan simulate --distance 1km 10km 100km 1000km --message 4KiB --bars\n"
      "  longhaul plan simulate --distance 100km --message 512B 4KiB --plot three-ways.svg\n"
      "  longhaul plan simulate --distance 1000km --message 4KiB --ways standard alone pair --loss 1e-4\n"
      "  longhaul plan simulate --rtt 3.81ms --operation read --qps 16 --ways standard --json");
  arguments->scenario.add_to(*command);
  command
      ->add_option(
          "--ways", arguments->ways,
          "ways to simulate (default: all; alone only with losses): standard, deep, alone (two boxes that do not "
          "talk), pair (two that are peers, and send again only what is lost)")
      ->type_name("standard|deep|alone|pair")
      ->check(one_of(plan::simulated_ways()));
  command
      ->add_option(
          "--messages", arguments->messages,
          "messages on each QP (default: three round trips' worth, at least 5000, at most some seconds of simulation)")
      ->type_name("N")
      ->check(whole_number(0, UINT64_MAX));
  command->add_option("--loss", arguments->loss, "fraction of frames lost on the long haul, each way (default 0)")
      ->type_name("SHARE");
  command->add_option("--seed", arguments->seed, "seed of the random losses (default 1)")
      ->type_name("N")
      ->check(whole_number(0, UINT64_MAX));
  command->add_flag("--quiet", arguments->quiet, "show no progress on the terminal");
  arguments->output.add_to(*command);
  command->add_flag("--bars", arguments->bars, "also draw the simulated rates as bars, in the terminal")
      ->excludes(command->get_option("--json"))
      ->excludes(command->get_option("--csv"));
  command->callback([arguments, &exit_code] { exit_code = guarded("plan simulate", [&] { return run(*arguments); }); });
}

}  // namespace longhaul::app
