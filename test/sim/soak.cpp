// SPDX-License-Identifier: BSD-3-Clause
// Random worlds without end: see --help.
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>

#include "pools.hpp"
#include "program.hpp"
#include "sim/case.hpp"
#include "sim/lane_twins.hpp"
#include "sim/world.hpp"

namespace {

using namespace longhaul;
using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t cases = 10000;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  unsigned seconds = 0;  ///< 0: until all cases ran
  std::string record;
  std::string replay;
  std::string given;
  bool trace = false;
  bool shrink = true;
  bool survey = false;
  bool tenants = false;
  bool lane = false;
  bool nics = false;
  bool peers = false;
  unsigned expect = 0;
};

sim::Case draw(const Options& options, std::uint64_t seed) {
  sim::Case c = sim::draw_case(seed);
  if (options.nics) c = sim::with_random_nics(c);
  if (options.peers) c = sim::with_random_peers(c);
  return sim::parse_case(options.given, options.tenants ? sim::with_random_attack(c) : c);
}

sim::Result run(const sim::Case& c, bool trace = false) {
  sim::Trace print;
  if (trace)
    print = [](Time at, const char* where, const sim::View& view) {
      fmt::print("{:12.3f} us {:10} {}\n", static_cast<double>(at) / 1e3, where, sim::describe(view));
    };
  sim::World world(c, test::sim_pools(), print);
  return world.run();
}

constexpr std::string_view kKinds[] = {"lossy",      "rejected",         "box crash",      "box starts in the middle",
                                       "asymmetric", "fatal NAK",        "responder dies", "early close",
                                       "outage",     "reconnect",        "no RDMA-CM",     "drain",
                                       "credits",    "box stands still", "another life",   "next hop dies",
                                       "bypass",     "policy changed"};

/// What one job reports to the program that started it, through a pipe, now and then and at its end.
struct Report {
  std::uint64_t cases = 0;
  sim::Totals totals;
  std::uint64_t virtual_ms = 0;
  std::array<std::uint64_t, std::size(kKinds)> kinds{};
  std::uint64_t failed_seed = 0;
  bool failed = false;
  std::uint64_t violations = 0;
  std::uint64_t lane_frames = 0;
};

std::size_t kind_index(std::string_view kind) {
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    if (kKinds[i] == kind) return i;
  throw std::logic_error("a kind of case without a name here: " + std::string(kind));
}

/// run(), and a difference to the same world without the lane is a violation too.
sim::Result run_both(const Options& options, const sim::Case& c, std::uint64_t& lane_frames) {
  if (!options.lane) return run(c);
  sim::LaneTwins twins = sim::run_lane_twins(c, test::sim_pools());
  lane_frames += twins.lane_frames;
  if (!twins.with.violation && !twins.difference.empty())
    twins.with.violation = sim::Violation{{}, "the lane: " + twins.difference};
  return twins.with;
}

// An exception that ends the whole run names the world.
sim::Result run_named(const Options& options, const sim::Case& c, std::uint64_t& lane_frames) {
  try {
    return run_both(options, c, lane_frames);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("seed {}: {}", c.seed, error.what()));
  }
}

void work(const Options& options, unsigned job, int pipe) {
  Report report;
  const auto send = [&] {
    if (write(pipe, &report, sizeof(report)) != static_cast<ssize_t>(sizeof(report))) std::_Exit(3);
  };
  for (std::uint64_t i = job; i < options.cases; i += options.jobs) {
    const std::uint64_t seed = options.seed + i;
    const sim::Case c = draw(options, seed);
    const sim::Result result = run_named(options, c, report.lane_frames);
    ++report.cases;
    report.totals.add(result.totals);
    report.virtual_ms += result.lasted / 1000000;
    ++report.kinds[kind_index(sim::kind_of(c))];
    if (result.violation) ++report.violations;
    if (result.violation && options.survey) {
      fmt::print("seed {}: {}\n", seed, result.violation->text);
      std::fflush(stdout);
    } else if (result.violation) {
      report.failed = true;
      report.failed_seed = seed;
      send();
      return;
    }
    if (report.cases % 50 == 0) send();
  }
  send();
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

void write_record(const Options& options, const Report& sum, double took, const std::string& command) {
  std::ofstream out(options.record);
  out << fmt::format("# Soak run of {}\n\n", now_text())
      << "Random worlds in virtual time: hosts, boxes and links as `test/sim` models them, every invariant of the "
         "design checked.\n\n"
      << "    " << command << "\n\n"
      << fmt::format("{} cases, seeds {} to {}, {} violations, {:.0f} s on {} jobs, {:.0f} hours of virtual time.\n\n",
                     sum.cases, options.seed, options.seed + options.cases - 1, sum.violations, took, options.jobs,
                     static_cast<double>(sum.virtual_ms) / 3.6e6)
      << "| kind of case | cases |\n|---|---|\n";
  for (std::size_t i = 0; i < std::size(kKinds); ++i) out << fmt::format("| {} | {} |\n", kKinds[i], sum.kinds[i]);
  out << "\n| what happened | times |\n|---|---|\n";
  sum.totals.each([&](const char* name, std::uint64_t value) { out << fmt::format("| {} | {} |\n", name, value); });
  if (!out) throw std::runtime_error("cannot write " + options.record);
}

int explain(const Options& options, std::uint64_t seed) {
  sim::Case c = draw(options, seed);
  std::uint64_t lane_frames = 0;
  auto result = run_both(options, c, lane_frames);
  std::cout << "\nseed " << seed << ": " << sim::to_text(c) << "\n";
  if (!result.violation) {
    std::cout << "it does not fail again\n";
    return 1;
  }
  std::cout << result.violation->text << "\n";
  if (options.shrink) {
    const auto fails_alike = [&, rule = result.violation->rule](const sim::Case& candidate) {
      const auto again = run_both(options, candidate, lane_frames);
      return again.violation && again.violation->rule == rule;
    };
    c = test::shrink(c, fails_alike, std::chrono::seconds(20));
    result = run_both(options, c, lane_frames);
    std::cout << "shrunk: " << sim::to_text(c) << "\n" << (result.violation ? result.violation->text : "?") << "\n";
  }
  std::cout << "replay: build/test/sim/soak --trace --case '" << sim::to_text(c) << "'\n";
  return 1;
}

/// Tests the test: a deliberate defect must be found, and under its rule.
int expect(const Options& options) {
  std::map<unsigned, unsigned> others;
  for (std::uint64_t i = 0; i < options.cases; ++i) {
    std::uint64_t lane_frames = 0;
    const auto result = run_both(options, draw(options, options.seed + i), lane_frames);
    if (!result.violation) continue;
    if (options.lane || static_cast<unsigned>(result.violation->rule) == options.expect) {
      std::cout << "found by seed " << options.seed + i << ": " << result.violation->text << "\n";
      return 0;
    }
    ++others[static_cast<unsigned>(result.violation->rule)];
  }
  std::cout << "rule " << options.expect << " was not broken in " << options.cases << " cases; others:";
  for (const auto& [rule, times] : others) std::cout << " rule " << rule << " " << times << " times";
  std::cout << "\n";
  return 1;
}

int soak(const Options& options, const std::string& command) {
  const auto begin = Clock::now();
  const auto jobs = test::start_jobs(options.jobs, [&](unsigned job, int pipe) { work(options, job, pipe); });
  std::vector<pollfd> pipes;
  for (const test::Job& job : jobs) pipes.push_back({job.pipe, POLLIN, 0});
  std::vector<Report> latest(options.jobs);
  Report sum;
  auto told = begin;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  bool stop = false;
  for (unsigned open = options.jobs; open > 0;) {
    poll(pipes.data(), pipes.size(), 1000);
    for (unsigned job = 0; job < options.jobs; ++job) {
      if (pipes[job].fd < 0 || pipes[job].revents == 0) continue;
      Report report;
      const ssize_t got = read(pipes[job].fd, &report, sizeof(report));
      if (got == static_cast<ssize_t>(sizeof(report))) {
        latest[job] = report;
        if (report.failed) stop = true;
      } else {
        close(pipes[job].fd);
        pipes[job].fd = -1;
        --open;
      }
    }
    sum = Report{};
    for (const Report& report : latest) {
      sum.cases += report.cases;
      sum.totals.add(report.totals);
      sum.virtual_ms += report.virtual_ms;
      sum.violations += report.violations;
      sum.lane_frames += report.lane_frames;
      for (std::size_t k = 0; k < sum.kinds.size(); ++k) sum.kinds[k] += report.kinds[k];
      if (report.failed && (!sum.failed || report.failed_seed < sum.failed_seed)) {
        sum.failed = true;
        sum.failed_seed = report.failed_seed;
      }
    }
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    if (options.seconds != 0 && took > options.seconds) stop = true;
    if (stop)
      for (const test::Job& job : jobs) kill(job.process, SIGTERM);
    if (Clock::now() - told > std::chrono::seconds(terminal ? 1 : 15)) {
      told = Clock::now();
      const double rate = static_cast<double>(sum.cases) / took;
      std::cerr << fmt::format(
          "{}{} of {} cases, {:.0f}/s, {:.0f} s to go{}", terminal ? "\r" : "", sum.cases, options.cases, rate,
          static_cast<double>(options.cases - sum.cases) / std::max(rate, 0.1), terminal ? "   " : "\n");
    }
  }
  bool died = false;
  for (const test::Job& job : jobs) {
    int status = 0;
    waitpid(job.process, &status, 0);
    if (!stop && status != 0) died = true;
  }
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  if (terminal) std::cerr << "\n";
  std::cout << fmt::format("{} cases, seeds {} to {}, {} violations, {:.1f} s\n", sum.cases, options.seed,
                           options.seed + options.cases - 1, sum.violations, took);
  if (options.lane)
    std::cout << fmt::format("  {:>10}  frames took the lane, and nothing differed without it but in violations\n",
                             sum.lane_frames);
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    std::cout << fmt::format("  {:>10}  {}\n", sum.kinds[i], kKinds[i]);
  sum.totals.each(
      [](const char* name, std::uint64_t value) { std::cout << fmt::format("  {:>10}  {}\n", value, name); });
  if (!options.record.empty()) write_record(options, sum, took, command);
  if (died) {
    std::cerr << "a job died\n";
    return 1;
  }
  if (sum.failed) return explain(options, sum.failed_seed);
  return sum.violations != 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs random worlds in virtual time and holds each to the invariants of docs/design.md.\n"
      "A case that breaks one is printed, shrunk, and printed again with the command that replays it.\n"
      "Exit status: 0 all held, 1 one did not, 2 wrong arguments.\n");
  Options options;
  app.add_option("--cases", options.cases, "how many cases");
  app.add_option("--seed", options.seed, "of the first case; the next has the next seed");
  app.add_option("--jobs", options.jobs, "processes side by side")->check(CLI::Range(1, 256));
  app.add_option("--seconds", options.seconds, "stop after this time, even if not all cases have run");
  app.add_option("--record", options.record, "write a record in Markdown to this file");
  app.add_option("--case", options.replay, "run this one case, as text, and say what breaks");
  app.add_option("--given", options.given, "what each case has, as text, whatever is drawn");
  app.add_flag("--trace", options.trace, "with --case: print every frame at every place");
  app.add_flag("--shrink,!--no-shrink", options.shrink, "make a failing case simpler (default)");
  app.add_flag("--tenants", options.tenants,
               "a hostile tenant or a forger in each world (build/test/sim/tenants --list)");
  app.add_flag("--peers", options.peers, "the boxes are peers, and repair flows together (lib/sim/draw_peers.cpp)");
  app.add_flag("--nics", options.nics, "each host has the habits of a NIC family (lib/sim/nic_families.cpp)");
  app.add_flag("--lane", options.lane,
               "run each case also without the lane: whatever can be seen of both worlds must be the same");
  app.add_flag("--survey", options.survey, "print what each failing case breaks, and go on");
  app.add_option("--expect", options.expect,
                 "succeed as soon as a case breaks this rule (with --lane: any), fail when none does");
  bool print = false;
  app.add_flag("--draw", print, "print the text of the case with --seed, and stop");
  return test::run_program(app, argc, argv, [&] {
    if (print) {
      std::cout << sim::to_text(draw(options, options.seed)) << "\n";
      return 0;
    }
    if (!options.replay.empty()) {
      sim::Case c = sim::parse_case(options.replay);
      auto result = run(c, options.trace);
      std::cout << (result.violation ? result.violation->text : "every invariant held") << "\n";
      return result.violation ? 1 : 0;
    }
    if (options.expect != 0) return expect(options);
    std::string command;
    for (int i = 0; i < argc; ++i) command += std::string(i == 0 ? "" : " ") + argv[i];
    return soak(options, command);
  });
}
