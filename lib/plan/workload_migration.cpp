// SPDX-License-Identifier: BSD-3-Clause
// Live migration of virtual machines, pre-copy: the whole memory, then what was written meanwhile, and so on, until the
// rest can be sent within the downtime.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plan/depth.hpp"
#include "plan/predict.hpp"
#include "plan/text.hpp"
#include "plan/workload.hpp"

namespace longhaul::plan {
namespace {

struct Throughput {
  double bits_per_second = 0;
  std::string limit;
};

Throughput throughput(const MigrationLoad& load, const Scenario& scenario) {
  const Prediction link = predict(scenario);
  if (load.host_rate != 0 && static_cast<double>(load.host_rate) < link.bits_per_second)
    return {static_cast<double>(load.host_rate), "hosts"};
  return {link.bits_per_second, std::string(key_of(link.limit))};
}

/// How fast a guest writes its memory.
struct Writing {
  double bytes_per_second = 0;
  std::optional<std::size_t> share;  ///< index into the workload's shares; none when a rate is given instead
};

std::vector<Writing> writings(const MigrationLoad& load, std::uint64_t memory) {
  if (load.dirty_rate) return {{static_cast<double>(*load.dirty_rate) / 8, {}}};
  std::vector<Writing> out;
  for (std::size_t i = 0; i < load.dirty.size(); ++i)
    out.push_back({load.dirty[i] * static_cast<double>(memory) * 1e9 / static_cast<double>(load.dirty_interval), i});
  return out;
}

/// The published figure for it; null when there is none.
const MigrationLoad::Published* published(const std::vector<MigrationLoad::Published>& times, const Writing& writing) {
  return times.empty() || !writing.share ? nullptr : &times[*writing.share];
}

Cell time_cell(const MigrationResult& result) {
  if (!result.finishes) return {"never", nullptr};
  return {fmt::format("{:.1f}", result.seconds), result.seconds};
}

Cell published_cell(const MigrationLoad::Published* time) {
  if (time == nullptr) return nothing();
  if (!time->seconds) return {"never", "never"};
  return {fmt::format("{:.0f}{}", *time->seconds, time->remark.empty() ? "" : ", " + time->remark), *time->seconds};
}

Cell deviation_cell(const MigrationResult& result, const MigrationLoad::Published* time) {
  if (time == nullptr) return nothing();
  if (!time->seconds || !result.finishes) {
    const bool agree = time->seconds.has_value() == result.finishes;
    const char* words = agree ? "agrees" : time->remark.empty() ? "disagrees" : "at the edge";
    return {words, words};
  }
  const double deviation = result.seconds / *time->seconds - 1;
  return {fmt::format("{:+.1f} %", deviation * 100), deviation};
}

std::string advice(const MigrationLoad& load, const Throughput& standard, const Throughput& deep,
                   const Throughput& pair, const Scenario& with_pair) {
  std::string never;
  for (const MigrationLoad::Machine& machine : load.machines)
    for (const Writing& writing : writings(load, machine.memory))
      if (writing.bytes_per_second * 8 >= standard.bits_per_second)
        never = fmt::format("; a guest that writes more than {} never finishes by pre-copy alone",
                            rate_text(standard.bits_per_second));
  if (pair.bits_per_second > standard.bits_per_second * kWorthwhile)
    return fmt::format("The pair would help: {} instead of {}, limited by {}{} ({} with deep queues){}.",
                       rate_text(pair.bits_per_second), rate_text(standard.bits_per_second), pair.limit,
                       pair.limit == key_of(Limit::box) ? fmt::format(" ({})", box_remedy(with_pair)) : "",
                       rate_text(deep.bits_per_second), never);
  if (pair.bits_per_second < standard.bits_per_second / kWorthwhile)
    return fmt::format("A pair like this would be slower ({} instead of {}), limited by the box: {}{}.",
                       rate_text(pair.bits_per_second), rate_text(standard.bits_per_second), box_remedy(with_pair),
                       never);
  if (standard.limit == "hosts")
    return fmt::format(
        "The hosts are the limit ({}), not the distance: depth, QPs or the pair would not help, but faster copying in "
        "the hosts would{}.",
        rate_text(standard.bits_per_second), never);
  return fmt::format("{} is the limit ({}): the pair would not help{}.",
                     standard.limit == "line" ? "The line" : standard.limit, rate_text(standard.bits_per_second),
                     never);
}

}  // namespace

MigrationResult migrate(const MigrationLoad& load, std::uint64_t memory, double bytes_per_second,
                        double dirty_bytes_per_second) {
  const double whole = static_cast<double>(memory);
  const double enough = bytes_per_second * static_cast<double>(load.downtime) / 1e9;
  MigrationResult out;
  out.seconds = static_cast<double>(load.storage) / bytes_per_second;
  double rest = whole;
  while (rest > enough && out.rounds < load.rounds) {
    const double time = rest / bytes_per_second;
    out.seconds += time;
    ++out.rounds;
    rest = std::min(whole, dirty_bytes_per_second * time);
  }
  out.finishes = rest <= enough;
  out.downtime = rest / bytes_per_second;
  out.seconds += out.downtime;
  return out;
}

WorkloadAnswer answer(const Workload& workload, const MigrationLoad& load, const Circumstances& circumstances) {
  Scenario scenario;
  scenario.operation = Operation::write;
  scenario.message = load.message;
  scenario.link = circumstances.link;
  scenario.hosts = circumstances.hosts;
  scenario.hosts.depth = load.depth;
  scenario.pair = circumstances.pair;
  Hosts deep = circumstances.deep;
  deep.depth = std::max(deep.depth, load.depth);
  const Ways three = ways(scenario, deep);
  const Throughput standard = throughput(load, three.standard);
  const Throughput deeper = throughput(load, three.deep);
  const Throughput pair = throughput(load, three.pair);

  Report report = begin_report(workload, circumstances);
  report.lines.push_back(
      fmt::format("throughput: standard {} ({}), deep queues {} ({}), pair {} ({}); {} of storage first; downtime {}",
                  rate_text(standard.bits_per_second), standard.limit, rate_text(deeper.bits_per_second), deeper.limit,
                  rate_text(pair.bits_per_second), pair.limit, bytes_text(static_cast<double>(load.storage)),
                  time_text(in_seconds(load.downtime))));
  Table table("migrations", "Seconds until the machine runs at the other end", Kind::calculated,
              {{"memory_bytes", "memory", Column::Align::right, {}},
               {"dirty_share", "dirtied, %", Column::Align::right, {}},
               {"dirty_bytes_per_second", "written, GB/s", Column::Align::right, {}},
               {"rounds", "rounds", Column::Align::right, {}},
               {"standard_seconds", "standard", Column::Align::right, {}},
               {"standard_finishes", "", Column::Align::left, {}},
               {"deep_seconds", "deep queues", Column::Align::right, {}},
               {"deep_finishes", "", Column::Align::left, {}},
               {"pair_seconds", "pair", Column::Align::right, {}},
               {"pair_finishes", "", Column::Align::left, {}},
               {"downtime_seconds", "downtime, ms", Column::Align::right, {}},
               {"published_rdma_seconds", "RDMA", Column::Align::left, Kind::published},
               {"deviation", "standard against it", Column::Align::right, {}},
               {"published_tcp_seconds", "TCP", Column::Align::left, Kind::published}});
  Plot plot;
  plot.title = fmt::format("{}, {}, {}", workload.title, rate_text(static_cast<double>(scenario.link.rate_bps)),
                           distance_text(scenario.link.round_trip));
  plot.x = {"the guest writes, GB/s", false, Axis::Marks::numbers};
  plot.y = {"seconds to migrate", false, Axis::Marks::numbers};
  for (std::size_t at = 0; at < load.machines.size(); ++at) {
    const MigrationLoad::Machine& machine = load.machines[at];
    Series points{fmt::format("{} (published)", size_text(machine.memory)), {}, {}};
    points.style = Series::Style::points;
    points.look = static_cast<int>(at);
    for (const Writing& writing : writings(load, machine.memory)) {
      const auto run = [&](const Throughput& way) {
        return migrate(load, machine.memory, way.bits_per_second / 8, writing.bytes_per_second);
      };
      const MigrationResult plain = run(standard);
      const MigrationResult deep_run = run(deeper);
      const MigrationResult pair_run = run(pair);
      const MigrationLoad::Published* rdma = published(machine.rdma, writing);
      table.add({size_cell(machine.memory),
                 writing.share ? Cell{fmt::format("{:g}", load.dirty[*writing.share] * 100), load.dirty[*writing.share]}
                               : nothing(),
                 {fmt::format("{:.3f}", writing.bytes_per_second / 1e9), writing.bytes_per_second},
                 count(plain.rounds),
                 time_cell(plain),
                 {"", plain.finishes},
                 time_cell(deep_run),
                 {"", deep_run.finishes},
                 time_cell(pair_run),
                 {"", pair_run.finishes},
                 plain.finishes ? Cell{fmt::format("{:.0f}", plain.downtime * 1e3), plain.downtime} : nothing(),
                 published_cell(rdma),
                 deviation_cell(plain, rdma),
                 published_cell(published(machine.tcp, writing))});
      if (rdma != nullptr && rdma->seconds) {
        points.x.push_back(writing.bytes_per_second / 1e9);
        points.y.push_back(*rdma->seconds);
      }
    }
    Series line{size_text(machine.memory), {}, {}};
    line.marked = false;
    line.look = static_cast<int>(at);
    line.dash = Series::Dash::solid;
    constexpr int kSteps = 200;
    for (int step = 0; step <= kSteps; ++step) {
      const double dirty = standard.bits_per_second / 8 * step / kSteps;
      const MigrationResult result = migrate(load, machine.memory, standard.bits_per_second / 8, dirty);
      line.x.push_back(dirty / 1e9);
      line.y.push_back(result.finishes ? result.seconds : NAN);
    }
    plot.series.push_back(std::move(line));
    if (!points.x.empty()) plot.series.push_back(std::move(points));
  }
  report.tables.push_back(std::move(table));
  const std::string sentence = advice(load, standard, deeper, pair, three.pair);
  report.advice = sentence;
  for (const auto& [key, way] : {std::pair{"standard", standard}, std::pair{"deep", deeper}, std::pair{"pair", pair}})
    report.facts["throughput"][key] = {{"bits_per_second", way.bits_per_second}, {"limit", way.limit}};
  report.notes.push_back(
      fmt::format("Pre-copy: each round sends what was written during the round before. It finishes when the rest fits "
                  "into the downtime, which needs a write rate below the throughput; it is given up after {} rounds.",
                  load.rounds));
  return {std::move(report), std::move(plot)};
}

}  // namespace longhaul::plan
