// SPDX-License-Identifier: BSD-3-Clause
#include "pairs_chance.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "pools.hpp"
#include "program.hpp"
#include "sim/pair_chance.hpp"

namespace longhaul::test {

namespace {

constexpr double kQuantiles[] = {0.5, 0.9, 0.99, 0.999};

/// The sum of many comparisons.
struct Compared {
  sim::Ratios ratios;
  std::uint64_t lost_more = 0;

  void add(const sim::Comparison& found) {
    for (const double ratio : found.ratios) ratios.add(ratio);
    lost_more += found.lost_more;
  }
  void add(const Compared& others) {
    ratios.add(others.ratios);
    lost_more += others.lost_more;
  }
};

struct Both {
  Compared with;
  Compared control;

  void add(const sim::ChancePair& pair) {
    with.add(pair.with);
    control.add(pair.control);
  }
  void add(const Both& others) {
    with.add(others.with);
    control.add(others.control);
  }
};

/// What a job has seen, written to its pipe as it is.
struct Seen {
  Both all;
  Both bound_by_window;
  std::uint64_t excepted = 0;
  std::uint64_t violations = 0;
  std::uint64_t slower = 0;  ///< how many Slower follow in the pipe

  void add(const Seen& others) {
    all.add(others.all);
    bound_by_window.add(others.bound_by_window);
    excepted += others.excepted;
    violations += others.violations;
    slower += others.slower;
  }
};

/// A world that may have to be run again.
struct Slower {
  std::uint64_t seed;
  double ratio;  ///< the greatest ratio
  bool lost_more;
};

/// Reports progress now and then. Only the first job does.
class Progress {
 public:
  Progress(unsigned job, std::uint64_t of, const char* what) : silent_(job != 0), of_(of), what_(what) {}
  void at(std::uint64_t done) {
    const auto now = Clock::now();
    if (silent_ || now < next_) return;
    next_ = now + std::chrono::seconds(10);
    fmt::print(stderr, "{} of {} {}\n", done, of_, what_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool silent_;
  std::uint64_t of_;
  const char* what_;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(10);
};

sim::Result run_world(const sim::Case& c, bool with_boxes) { return sim::run_world(c, with_boxes, sim_pools()); }

void look(const ChanceOptions& options, unsigned job, int pipe) {
  const auto seen = std::make_unique<Seen>();
  std::vector<Slower> slower;
  Progress progress(job, options.cases, "worlds");
  for (std::uint64_t i = job; i < options.cases; i += options.jobs) {
    progress.at(i);
    const sim::Case c = options.draw(options.seed + i);
    if (!sim::excepted(c).empty()) {
      ++seen->excepted;
      continue;
    }
    const auto run = [&](const sim::Case& world, bool with_boxes) {
      sim::Result result = run_world(world, with_boxes);
      if (result.violation) {
        ++seen->violations;
        fmt::print("seed {}: {}\n", c.seed, result.violation->text);
        std::fflush(stdout);
      }
      return result;
    };
    const sim::ChancePair pair = sim::run_chance_pair(c, run);
    seen->all.add(pair);
    if (sim::is_bound_by_window(c)) seen->bound_by_window.add(pair);
    const auto greatest = std::ranges::max_element(pair.with.ratios);
    const double ratio = greatest == pair.with.ratios.end() ? 0 : *greatest;
    if (ratio > 1 || pair.with.lost_more != 0) slower.push_back({c.seed, ratio, pair.with.lost_more != 0});
  }
  seen->slower = slower.size();
  write_all(pipe, seen.get(), sizeof(Seen));
  write_all(pipe, slower.data(), slower.size() * sizeof(Slower));
}

/// Prints the table; true if no quantile is beyond the control's.
bool print_quantiles(const char* title, const Both& both) {
  fmt::print("{:<36} {:>10} {:>10}\n", title, "with boxes", "control");
  bool well = true;
  for (const double part : kQuantiles) {
    const double with = both.with.ratios.quantile(part), control = both.control.ratios.quantile(part);
    const bool within = with <= sim::kMost * control;
    fmt::print("{:<36} {:>10.3f} {:>10.3f}{}\n", fmt::format("  p{:g}", part * 100), with, control,
               within ? "" : "  worse");
    well = well && within;
  }
  fmt::print("{:<36} {:>10} {:>10}\n", "  compared", both.with.ratios.count(), both.control.ratios.count());
  fmt::print("{:<36} {:>10} {:>10}\n", "  lost more than the other run", both.with.lost_more, both.control.lost_more);
  return well;
}

std::uint64_t run_again(const ChanceOptions& options, const std::vector<std::uint64_t>& seeds) {
  return sum_of_jobs(options.jobs, [&](unsigned job) {
    std::uint64_t worse = 0;
    Progress progress(job, seeds.size(), "worlds run again");
    for (std::size_t i = job; i < seeds.size(); i += options.jobs) {
      progress.at(i);
      const auto words = sim::worse_by_chance(options.draw(seeds[i]), run_world);
      if (words.empty()) continue;
      ++worse;
      fmt::print("seed {}: {} ({} worse)\n", seeds[i], words[0], words.size());
      std::fflush(stdout);
    }
    return worse;
  });
}

}  // namespace

bool judge_by_chance(const ChanceOptions& options) {
  const auto all = std::make_unique<Seen>();
  std::vector<Slower> slower;
  run_jobs(
      options.jobs, [&](unsigned job, int pipe) { look(options, job, pipe); },
      [&](int pipe) {
        const auto seen = std::make_unique<Seen>();
        read_all(pipe, seen.get(), sizeof(Seen));
        const std::size_t before = slower.size();
        slower.resize(before + seen->slower);
        read_all(pipe, slower.data() + before, seen->slower * sizeof(Slower));
        all->add(*seen);
      });
  bool well = print_quantiles("times, to a run without boxes", all->all);
  print_quantiles("the same where the window binds", all->bound_by_window);
  std::vector<std::uint64_t> again;
  const double beyond = all->all.control.ratios.quantile(0.999);
  for (const Slower& pair : slower)
    if (pair.lost_more || pair.ratio > beyond) again.push_back(pair.seed);
  const std::uint64_t worse = run_again(options, again);
  fmt::print("{} worlds, {} may be worse and were not run; {} run again, {} worse with boxes, {} broke a rule\n",
             options.cases, all->excepted, again.size(), worse, all->violations);
  return well && worse == 0 && all->violations == 0;
}

void show_by_chance(const sim::Case& c) {
  for (const std::string& words : sim::worse_by_chance(c, run_world)) fmt::print("{}\n", words);
}

}  // namespace longhaul::test
