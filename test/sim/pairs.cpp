// SPDX-License-Identifier: BSD-3-Clause
// Random worlds, each with its boxes and without: see --help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

#include "pairs_chance.hpp"
#include "pairs_nics.hpp"
#include "pools.hpp"
#include "program.hpp"
#include "sim/pair.hpp"
#include "sim/pair_chance.hpp"

namespace {

using namespace longhaul;

struct Options {
  std::uint64_t cases = 1000;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  std::string text;
  std::string given;
  bool by_chance = false;
  bool control = false;
  bool nics = false;
};

sim::Case draw(const Options& options, std::uint64_t seed) {
  const sim::Case c = sim::draw_pair(seed, options.by_chance);
  return sim::parse_case(options.given, options.nics ? sim::with_random_nics(c) : c);
}

sim::Result run_one(const Options& options, const sim::Case& c, bool with_boxes) {
  sim::Case chosen = c;
  if (with_boxes && options.control) chosen.wan_delay_ns += 1000;
  return sim::run_world(chosen, with_boxes && !options.control, test::sim_pools());
}

/// What is worse with boxes, in words. If the link's queue overflows, nudged runs tell luck from the boxes' effect.
std::vector<std::string> worse_off(const Options& options, const sim::Case& c, const sim::Pair& pair) {
  auto worse = sim::worse_off(c, pair);
  if (worse.empty() || !sim::is_contested(pair)) return worse;
  return sim::worse_when_nudged(
      c, [&](const sim::Case& drawn, bool with_boxes) { return run_one(options, drawn, with_boxes); });
}

/// For shrinking, which must not drift to a world that also breaks a rule without boxes.
bool is_worse(const sim::Case& c) {
  const sim::Pair pair = sim::run_pair(c, test::sim_pools());
  return (pair.with.violation && !pair.without.violation) || !sim::worse_off(c, pair).empty();
}

void show(const sim::Case& c) {
  const sim::Pair pair = sim::run_pair(c, test::sim_pools());
  fmt::print("{:<10} {:>14} {:>14}\n", "flow", "without, s", "with, s");
  const auto time = [](const sim::Delivery& d) {
    return fmt::format("{}{}", d.accepted ? fmt::format("{:.6f}", static_cast<double>(d.took) / 1e9) : "never",
                       d.died ? " died" : "");
  };
  for (std::size_t i = 0; i < pair.without.deliveries.size() && i < pair.with.deliveries.size(); ++i)
    fmt::print("{:<10} {:>14} {:>14}\n", pair.without.deliveries[i].flow, time(pair.without.deliveries[i]),
               time(pair.with.deliveries[i]));
  fmt::print("frames on the WAN: {} and {} without, {} and {} with\n", pair.without.wan_frames[0],
             pair.without.wan_frames[1], pair.with.wan_frames[0], pair.with.wan_frames[1]);
  for (const auto* result : {&pair.without, &pair.with})
    if (result->violation) fmt::print("{}\n", result->violation->text);
  for (const std::string& worse : sim::worse_off(c, pair)) fmt::print("{}\n", worse);
}

/// Counts the worlds that are worse, and the times by NIC family.
test::NicTimes work(const Options& options, unsigned job) {
  test::NicTimes times;
  for (std::uint64_t i = job; i < options.cases; i += options.jobs) {
    const sim::Case c = draw(options, options.seed + i);
    const sim::Pair pair{run_one(options, c, false), run_one(options, c, true)};
    for (const auto* result : {&pair.without, &pair.with})
      if (result->violation) fmt::print("seed {}: {}\n", c.seed, result->violation->text);
    const auto worse = worse_off(options, c, pair);
    const bool bad = !worse.empty() || pair.with.violation;
    times.add(c, pair, bad);
    if (!bad) continue;
    if (!worse.empty()) fmt::print("seed {}: {} ({} worse)\n", c.seed, worse[0], worse.size());
    std::fflush(stdout);
  }
  return times;
}

int run(const Options& options) {
  test::NicTimes times;
  test::run_jobs(
      options.jobs, [&](unsigned job, int pipe) { work(options, job).write(pipe); },
      [&](int pipe) { times.add(test::NicTimes::read(pipe)); });
  if (options.nics) times.print();
  fmt::print("{} worlds, {} worse with boxes\n", options.cases, times.worse_worlds());
  return times.worse_worlds() != 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs random worlds in virtual time, each with its boxes and without, and says which connections are worse off\n"
      "with them: they die, or take longer by more than a twentieth and a round trip. Where the link drops frames for\n"
      "want of room, luck decides much: a world that is worse is run 64 times more both ways, nudged a little each\n"
      "time, and the means are compared. With --chance each runs once\n"
      "more without boxes and with other luck: the ratios of times are to be distributed as these are, and a world\n"
      "beyond nearly all of them is run 64 times more both ways.\n"
      "Exit status: 0 none is, 1 some are, 2 wrong arguments.\n");
  Options options;
  app.add_option("--cases", options.cases, "how many worlds");
  app.add_option("--seed", options.seed, "of the first world; the next has the next seed");
  app.add_option("--jobs", options.jobs, "processes side by side")->check(CLI::Range(1, 256));
  app.add_option("--case", options.text, "show this one world, as text");
  app.add_option("--given", options.given, "what each world has, as text, whatever is drawn");
  app.add_flag("--chance", options.by_chance, "worlds with losses and the like by chance, judged together");
  app.add_flag("--nics", options.nics,
               "each host has the habits of a NIC family (lib/sim/nic_families.cpp); prints the times by family");
  app.add_flag("--control", options.control, "no boxes, but a link 1 us longer: what is worse is worse by luck");
  bool print = false, simplify = false;
  app.add_flag("--draw", print, "print the text of the world with --seed, and stop");
  app.add_flag("--simplify", simplify, "make the world with --seed as simple as it can be and still be worse");
  return test::run_program(app, argc, argv, [&] {
    if (print) {
      fmt::print("{}\n", sim::to_text(draw(options, options.seed)));
      return 0;
    }
    if (!simplify && options.text.empty()) {
      if (!options.by_chance) return run(options);
      const auto drawn = [&](std::uint64_t seed) { return draw(options, seed); };
      return test::judge_by_chance({options.cases, options.seed, options.jobs, drawn}) ? 0 : 1;
    }
    sim::Case c = options.text.empty() ? draw(options, options.seed) : sim::parse_case(options.text);
    if (simplify) {
      c = test::shrink(c, is_worse, std::chrono::seconds(60));
      fmt::print("{}\n", sim::to_text(c));
    }
    show(c);
    if (options.by_chance) test::show_by_chance(c);
    return 0;
  });
}
