// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "plan/depth.hpp"
#include "plan/predict.hpp"
#include "plan/predict_run.hpp"
#include "plan/summary.hpp"
#include "plan/text.hpp"
#include "plan/timers.hpp"

namespace longhaul::plan {
namespace {

struct SimulatedWay {
  std::string_view key;   ///< for programs
  std::string_view name;  ///< for people
  std::size_t formula;    ///< of kWays
  bool peers;
  int look;  ///< of its curves
};

constexpr SimulatedWay kSimulatedWays[] = {{kWays[0].key, kWays[0].name, 0, false, 0},
                                           {kWays[1].key, kWays[1].name, 1, false, 1},
                                           {"alone", "boxes alone", 2, false, 3},
                                           {kWays[2].key, kWays[2].name, 2, true, 2}};

const SimulatedWay& way_of(const std::string& key) {
  for (const SimulatedWay& way : kSimulatedWays)
    if (way.key == key) return way;
  throw std::invalid_argument(fmt::format("unknown way \"{}\": expected {}", key, fmt::join(simulated_ways(), ", ")));
}

/// The relative deviation of a from b.
double deviation(double a, double b) { return a / b - 1; }

constexpr double kAlike = 0.05;

/// What the simulated runs showed, as one sentence: by how much the pair was ahead where it was ahead most.
std::string seen(const SimulationQuestion& question, const std::vector<SimulatedPoint>& points) {
  const SimulatedPoint* slow = nullptr;
  const SimulatedPoint* fast = nullptr;
  const auto ratio = [](const SimulatedPoint& one, const SimulatedPoint& other) {
    return one.simulation.bits_per_second / other.simulation.bits_per_second;
  };
  for (const SimulatedPoint& standard : points) {
    if (standard.way != "standard") continue;
    for (const SimulatedPoint& pair : points) {
      if (pair.way != "pair" || pair.run.scenario.message != standard.run.scenario.message ||
          pair.run.scenario.link.round_trip != standard.run.scenario.link.round_trip)
        continue;
      if (fast == nullptr || ratio(pair, standard) > ratio(*fast, *slow)) slow = &standard, fast = &pair;
    }
  }
  const std::string arrived = "Each byte arrived as it was posted, in order and once.";
  if (fast == nullptr) return "Seen: " + arrived;
  if (ratio(*fast, *slow) < 1 + kAlike)
    return "Seen: nowhere was the pair ahead of standard RDMA by more than 5 %. " + arrived;
  const Scenario& scenario = fast->run.scenario;
  return fmt::format(
      "Seen{}: over {} with messages of {} standard RDMA carried {}, the pair {}, {:.{}f} times as much. {}",
      points.size() > 2 * question.ways.size() ? ", where the pair helped most" : "",
      distance_text(scenario.link.round_trip), size_text(scenario.message), rate_text(slow->simulation.bits_per_second),
      rate_text(fast->simulation.bits_per_second), ratio(*fast, *slow), ratio(*fast, *slow) < 9.95 ? 1 : 0, arrived);
}

std::string percent(double fraction) {
  const double tenths = std::round(fraction * 1000) / 10 + 0.0;  // no -0.0
  return fmt::format("{:+.1f} %", tenths);
}

}  // namespace

std::vector<std::string> simulated_ways() {
  std::vector<std::string> keys;
  for (const SimulatedWay& way : kSimulatedWays) keys.emplace_back(way.key);
  return keys;
}

std::vector<SimulatedPoint> points_of(const SimulationQuestion& question) {
  std::vector<SimulatedPoint> points;
  for (const std::string& key : question.ways) {
    const SimulatedWay& way = way_of(key);
    for (const Duration round_trip : question.throughput.round_trips) {
      for (const std::uint64_t message : question.throughput.messages) {
        Scenario scenario = question.throughput.scenario;
        scenario.link.round_trip = round_trip;
        scenario.message = message;
        SimulatedPoint point;
        point.way = key;
        point.run.scenario = ways(scenario, question.throughput.deep).*kWays[way.formula].scenario;
        point.run.peers = way.peers;
        point.run.messages = question.messages != 0 ? question.messages : usual_messages(point.run.scenario);
        point.run.loss_ppm = question.loss_ppm;
        point.run.seed = question.seed;
        points.push_back(point);
      }
    }
  }
  return points;
}

engine::PoolPlan pools_for(const std::vector<SimulatedPoint>& points) {
  engine::PoolPlan all;
  all.frames = all.small_frames = all.frame_bytes = 0;
  for (const SimulatedPoint& point : points) {
    const engine::PoolPlan one = pools_for(point.run);
    all.name = one.name;
    all.frames = std::max(all.frames, one.frames);
    all.small_frames = std::max(all.small_frames, one.small_frames);
    all.frame_bytes = std::max(all.frame_bytes, one.frame_bytes);
  }
  return all;
}

std::string reason_of(const SimulatedPoint& point) {
  const double simulated = point.simulation.bits_per_second;
  const Scenario& scenario = point.run.scenario;
  const double formula = predict(scenario).bits_per_second;
  if (std::abs(deviation(simulated, formula)) <= kAlike) return "";
  if (point.simulation.lost > 0)
    return fmt::format("{} frames were lost, {} packets sent again by {}: the formula knows no loss",
                       point.simulation.lost, point.simulation.resends + point.simulation.repeated,
                       point.run.peers         ? "the boxes (selective repeat)"
                       : scenario.pair.present ? "the box (go-back-N)"
                                               : "the NIC (go-back-N)");
  const RunPrediction run = predict_run(scenario, point.run.messages);
  std::string why;
  const auto add = [&why](const std::string& text) { why += (why.empty() ? "" : "; ") + text; };
  if (const double turns = deviation(run.steady, formula); std::abs(turns) > kAlike / 2)
    add(fmt::format("{}: {}",
                    scenario.hosts.moderation > 1
                        ? fmt::format("a completion covers {} messages, and the last of them has to leave first",
                                      scenario.hosts.moderation)
                        : "a message must have left before it is answered",
                    percent(turns)));
  if (const double start = deviation(run.run, run.steady); std::abs(start) > kAlike / 2)
    add(fmt::format("the run is short, its last answers take a round trip: {}", percent(start)));
  if (const double rest = deviation(simulated, run.run); std::abs(rest) > kAlike)
    add("not explained: " + percent(rest));
  return why;
}

Report report(const SimulationQuestion& question, const std::vector<SimulatedPoint>& points) {
  const ThroughputQuestion& asked = question.throughput;
  const Scenario& scenario = asked.scenario;
  const bool several = asked.round_trips.size() > 1;
  Report out;
  out.title = fmt::format(
      "RC {} over {}{}, {} QP{}: simulated", capitals(name_of(scenario.operation)),
      rate_text(static_cast<double>(scenario.link.rate_bps)),
      several ? "" : fmt::format(", round trip {}", time_text(static_cast<double>(asked.round_trips.front()) * 1e-9)),
      scenario.hosts.qps, scenario.hosts.qps == 1 ? "" : "s");
  out.lines = {"The engine of `longhaul run` in virtual time, between modelled hosts; every byte was compared."};

  Table table("rows", "Payload", Kind::simulated,
              {{"way", "way", Column::Align::left, {}},
               {"round_trip_seconds", several ? "RTT, ms" : "", Column::Align::right, {}},
               {"kilometres", several ? "km" : "", Column::Align::right, {}},
               {"message_bytes", "message", Column::Align::right, {}},
               {"messages", "messages a QP", Column::Align::right, {}},
               {"bits_per_second", "Gbit/s", Column::Align::right, {}},
               {"messages_per_second", "messages/s", Column::Align::right, {}},
               {"calculated_bits_per_second", "formula, Gbit/s", Column::Align::right, Kind::calculated},
               {"calculated_run_bits_per_second", "", Column::Align::right, Kind::calculated},
               {"deviation", "deviation", Column::Align::right, {}},
               {"seconds", "", Column::Align::right, {}},
               {"pseudo_acks", "", Column::Align::right, {}},
               {"resends", "", Column::Align::right, {}},
               {"repeated", "", Column::Align::right, {}},
               {"lost", "", Column::Align::right, {}},
               {"reason", "", Column::Align::left, {}},
               {"world", "", Column::Align::left, {}}});
  std::vector<std::string> reasons;
  for (const SimulatedPoint& point : points) {
    const Scenario& s = point.run.scenario;
    const Simulation& simulation = point.simulation;
    const double formula = predict(s).bits_per_second;
    const double differs = deviation(simulation.bits_per_second, formula);
    const std::string reason = reason_of(point);
    std::string mark;
    if (!reason.empty()) {
      const auto known = std::ranges::find(reasons, reason);
      mark = fmt::format(" [{}]", known - reasons.begin() + 1);
      if (known == reasons.end()) reasons.push_back(reason);
    }
    table.add({word(std::string(way_of(point.way).name)),
               round_trip_cell(s.link.round_trip),
               kilometres_cell(s.link.round_trip),
               size_cell(s.message),
               count(point.run.messages),
               gigabits(simulation.bits_per_second),
               number(simulation.messages_per_second, 7),
               gigabits(formula),
               number(predict_run(s, point.run.messages).run),
               {percent(differs) + mark, differs},
               number(static_cast<double>(simulation.lasted) * 1e-9),
               count(simulation.pseudo_acks),
               count(simulation.resends),
               count(simulation.repeated),
               count(simulation.lost),
               word(reason),
               word(simulation.world)});
  }
  out.tables.push_back(std::move(table));
  for (std::size_t i = 0; i < reasons.size(); ++i) out.notes.push_back(fmt::format("[{}] {}.", i + 1, reasons[i]));
  if (reasons.empty()) out.notes.push_back("Formula and simulation agree within 5 % everywhere.");
  out.notes.push_back(seen(question, points));
  out.facts = facts_of(scenario, Kind::simulated);
  out.facts["loss"] = question.loss_ppm * 1e-6;
  out.facts["seed"] = question.seed;
  warn_of_timers(*std::ranges::max_element(asked.round_trips), out);
  out.advice = "By the formula: " + summarize(asked);
  return out;
}

Plot plot(const SimulationQuestion& question, const std::vector<SimulatedPoint>& points) {
  ThroughputQuestion asked = question.throughput;
  Plot out = plot(asked);
  out.kind = Kind::simulated;
  const bool distances = asked.round_trips.size() > 1;
  // The formula's curves are lines without marks, only for the ways that were simulated; the runs are points.
  std::vector<Series> series;
  const auto is_asked = [&question](std::string_view key) {
    return std::ranges::find(question.ways, key) != question.ways.end();
  };
  for (const SimulatedWay& way : kSimulatedWays) {
    if (!is_asked(way.key)) continue;
    Series line = out.series[way.formula];
    line.name = fmt::format("{}, calculated", way.name);
    line.marked = false;
    Series runs{fmt::format("{}, simulated", way.name), {}, {}, Series::Style::points};
    line.look = runs.look = way.look;
    for (const SimulatedPoint& point : points) {
      if (point.way != way.key) continue;
      const Scenario& s = point.run.scenario;
      runs.x.push_back(distances ? kilometres(s.link.round_trip) : static_cast<double>(s.message));
      runs.y.push_back(point.simulation.bits_per_second / 1e9);
    }
    // Ways that share a formula have one line: the last one's.
    const bool shared = std::any_of(&way + 1, std::end(kSimulatedWays), [&](const SimulatedWay& later) {
      return later.formula == way.formula && is_asked(later.key);
    });
    if (!shared) series.push_back(std::move(line));
    series.push_back(std::move(runs));
  }
  out.series = std::move(series);
  return out;
}

}  // namespace longhaul::plan
