// SPDX-License-Identifier: BSD-3-Clause
// Random worlds with hostile tenants and forgers: see --help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "pools.hpp"
#include "program.hpp"
#include "sim/attack_table.hpp"
#include "sim/fair.hpp"
#include "sim/plans.hpp"
#include "sim/world.hpp"

namespace {

using namespace longhaul;

struct Options {
  std::uint64_t cases = 10;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  std::string attack;
  std::string given;
  std::string text;
  bool control = false;
};

constexpr std::string_view by_name(sim::AttackBy who) {
  constexpr std::string_view kNames[] = {"neighbour", "tenant", "forger"};
  return kNames[static_cast<std::size_t>(who)];
}

sim::Case draw(const Options& options, std::uint64_t seed, sim::Number attack) {
  return sim::parse_case(options.given, sim::draw_attacked(seed, attack));
}

/// The numbers of the attacks to run.
std::vector<sim::Number> chosen(const Options& options) {
  if (!options.attack.empty()) return {sim::attack_number(options.attack)};
  std::vector<sim::Number> all;
  for (sim::Number n = 1; n <= sim::attacks().size(); ++n)
    if ((sim::attacks()[n - 1].who == sim::AttackBy::neighbour) == options.control) all.push_back(n);
  return all;
}

/// What a job says of one attack.
struct Row {
  sim::Number attack = 0;
  std::uint64_t worlds = 0;
  std::uint64_t unfair = 0;
  std::uint64_t broken = 0;  ///< worlds in which another rule did not hold
};

Row work(const Options& options, sim::Number attack, unsigned job) {
  Row row{attack};
  for (std::uint64_t i = job; i < options.cases; i += options.jobs) {
    const sim::Case c = draw(options, options.seed + i, attack);
    const sim::Fairness fairness = sim::run_attack(c, test::tight_pools());
    ++row.worlds;
    const std::string_view name = sim::attacks()[attack - 1].name;
    for (const sim::Result* result : {&fairness.attacked, &fairness.harmless}) {
      if (!result->violation) continue;
      fmt::print("{} seed {}: {}\n", name, c.seed, result->violation->text);
      ++row.broken;
      break;
    }
    if (!fairness.unfair.empty()) {
      ++row.unfair;
      fmt::print("{} seed {}: {} (and {} more)\n", name, c.seed, fairness.unfair[0], fairness.unfair.size() - 1);
    }
    std::fflush(stdout);
  }
  return row;
}

int run(const Options& options) {
  const auto numbers = chosen(options);
  std::map<sim::Number, Row> sum;
  test::run_jobs(
      options.jobs,
      [&](unsigned job, int pipe) {
        for (const sim::Number attack : numbers) {
          const Row row = work(options, attack, job);
          test::write_all(pipe, &row, sizeof(row));
        }
      },
      [&](int pipe) {
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          Row row;
          test::read_all(pipe, &row, sizeof(row));
          Row& all = sum[row.attack];
          all.attack = row.attack;
          all.worlds += row.worlds;
          all.unfair += row.unfair;
          all.broken += row.broken;
        }
      });
  Row all;
  std::uint64_t unfair_attacks = 0;
  fmt::print("{:<28} {:>9} {:>7} {:>7}\n", "attack", "by", "unfair", "worlds");
  for (const auto& [number, row] : sum) {
    const sim::Attack& attack = sim::attacks()[number - 1];
    fmt::print("{:<28} {:>9} {:>7} {:>7}{}\n", attack.name, by_name(attack.who), row.unfair, row.worlds,
               row.broken != 0 ? fmt::format("  and {} break another rule", row.broken) : "");
    all.worlds += row.worlds;
    all.unfair += row.unfair;
    all.broken += row.broken;
    unfair_attacks += row.unfair != 0 ? 1 : 0;
  }
  fmt::print("{} attacks in {} worlds: {} attacks are unfair, in {} worlds; {} worlds break another rule\n", sum.size(),
             all.worlds, unfair_attacks, all.unfair, all.broken);
  return all.unfair != 0 || all.broken != 0 ? 1 : 0;
}

void list() {
  for (const sim::Attack& attack : sim::attacks())
    fmt::print("{} ({})\n    {}\n    {}\n", attack.name, by_name(attack.who), attack.what, attack.source);
}

int show(const sim::Case& c) {
  const sim::Attack& attack = sim::attack_of(c);
  fmt::print("{}\n{} ({}): {}\n", sim::to_text(c), attack.name, by_name(attack.who), attack.what);
  const sim::Fairness fairness = sim::run_attack(c, test::tight_pools());
  const auto& attacked = fairness.attacked;
  const auto& harmless = fairness.harmless;
  const auto milli = [](Duration time) { return static_cast<double>(time) / 1e6; };
  fmt::print("{} frames of the attack\n{:<8} {:>30}    {:>30}\n", attacked.attack_frames.size(), "",
             "attacked: completes, p99, ms", "harmless: completes, p99, ms");
  const auto cells = [&](const sim::Delivery& d) {
    return fmt::format("{:>15.3f} {:>14.3f} {}", milli(d.completed_took), milli(sim::settled_delay(d.delays)),
                       d.died ? "died" : "    ");
  };
  for (std::size_t i = 0; i < std::min(attacked.deliveries.size(), harmless.deliveries.size()); ++i)
    fmt::print("{:<8} {} {}\n", attacked.deliveries[i].flow, cells(attacked.deliveries[i]),
               cells(harmless.deliveries[i]));
  for (unsigned b = 0; b < 2; ++b)
    fmt::print("box {}: {} and {} connections at the end; drained in {:.3f} and {:.3f} ms\n", b,
               attacked.holds[b].connections, harmless.holds[b].connections, milli(attacked.drained[b]),
               milli(harmless.drained[b]));
  for (const auto* totals : {&attacked.totals, &harmless.totals})
    fmt::print("{:<9} {} pseudo-ACKs, {} resends, {} refused by custody, {} rejoined, {} doubted, {} failed\n",
               totals == &attacked.totals ? "attacked:" : "harmless:", totals->pseudo_acks, totals->resends,
               totals->refused_custody, totals->rejoined, totals->doubted, totals->flows_failed);
  for (const auto* result : {&attacked, &harmless})
    if (result->violation) fmt::print("{}\n", result->violation->text);
  for (const std::string& text : fairness.unfair) fmt::print("unfair: {}\n", text);
  return fairness.unfair.empty() && !attacked.violation ? 0 : 1;
}

/// Cases come as text, or in files with comments.
sim::Case read_case(const std::string& text) {
  if (!std::filesystem::is_regular_file(text)) return sim::parse_case(text);
  std::ifstream file(text);
  std::string all;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) all += line + " ";
  return sim::parse_case(all);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs random worlds with a hostile tenant or a forger, and says what they take from others (rule 9).\n"
      "Each world runs twice: with the attack, and with harmless UDP of the same sizes at the same times. An attack "
      "is\n"
      "unfair if its victim keeps less than 0.8 of its throughput, has its completions after more than twice the time\n"
      "(99th percentile), dies, or if a drain waits for what nobody was promised, or buffers stay held; unless the "
      "same\n"
      "happens without boxes too.\n"
      "Exit status: 0 all are fair, 1 some are not or another rule was broken, 2 wrong arguments.\n");
  Options options;
  app.add_option("--cases", options.cases, "how many worlds for each attack");
  app.add_option("--seed", options.seed, "of the first world; the next has the next seed");
  app.add_option("--jobs", options.jobs, "processes side by side")->check(CLI::Range(1, 256));
  app.add_option("--attack", options.attack, "only this attack");
  app.add_option("--case", options.text, "show this one world: text, or a file with the text");
  app.add_option("--given", options.given, "what each world has, as text, whatever is drawn");
  app.add_flag("--control", options.control,
               "an honest neighbour instead of attacks: what is unfair is the judge's fault");
  std::uint64_t shown = 0;
  bool listed = false, simplify = false, trace = false;
  app.add_flag("--list", listed, "print all attacks, and stop");
  const auto* show_seed = app.add_option("--show", shown, "with --attack: show the world with this seed");
  app.add_flag("--simplify", simplify,
               "with --show or --case: make the world as simple as it can be and still be unfair");
  app.add_flag("--trace", trace, "with --show or --case: print every frame at every place instead");
  return test::run_program(app, argc, argv, [&] {
    if (listed) {
      list();
      return 0;
    }
    if (options.text.empty() && show_seed->count() == 0) return run(options);
    if (options.text.empty() && options.attack.empty())
      throw std::invalid_argument("--show needs --attack: --list has the names");
    sim::Case c =
        options.text.empty() ? draw(options, shown, sim::attack_number(options.attack)) : read_case(options.text);
    if (simplify)
      c = test::shrink(
          c,
          [](const sim::Case& simpler) {
            return sim::is_attacked(simpler) && !sim::run_attack(simpler, test::tight_pools()).unfair.empty();
          },
          std::chrono::seconds(60));
    if (!trace) return show(c);
    sim::World(c, test::tight_pools(), [](Duration at, const char* where, const sim::View& view) {
      fmt::print("{:12.3f} us {:10} {}\n", static_cast<double>(at) / 1e3, where, sim::describe(view));
    }).run();
    return 0;
  });
}
