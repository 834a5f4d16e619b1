// SPDX-License-Identifier: BSD-3-Clause
#include "plan/throughput.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "plan/depth.hpp"
#include "plan/framing.hpp"
#include "plan/predict.hpp"
#include "plan/summary.hpp"
#include "plan/text.hpp"
#include "plan/timers.hpp"

namespace longhaul::plan {
namespace {

Ways at(const ThroughputQuestion& question, Duration round_trip, std::uint64_t message) {
  Scenario scenario = question.scenario;
  scenario.link.round_trip = round_trip;
  scenario.message = message;
  return ways(scenario, question.deep);
}

std::string hosts_text(std::string_view name, Operation operation, const Hosts& hosts) {
  const Outstanding under_way = outstanding(operation, hosts);
  const std::string nic = hosts.nic_depth == 0 ? "all of them in the NIC" : fmt::format("NIC {}", hosts.nic_depth);
  const std::string moderated =
      hosts.moderation == 1 ? "" : fmt::format(", a completion for every {}th", hosts.moderation);
  return fmt::format("{:<12} {} posted a QP, {}{}: {} under way", name, hosts.depth, nic, moderated,
                     under_way.messages);
}

std::vector<Column> columns(const ThroughputQuestion& question) {
  const bool several = question.round_trips.size() > 1;
  const auto shown = [](bool visible, std::string heading) { return visible ? std::move(heading) : std::string(); };
  std::vector<Column> out = {
      {"round_trip_seconds", shown(several, "RTT, ms"), Column::Align::right, {}},
      {"kilometres", shown(several, "km"), Column::Align::right, {}},
      {"message_bytes", "message", Column::Align::right, {}},
      {"line_bytes", "", Column::Align::right, {}},
  };
  for (const Way& way : kWays) {
    const std::string key(way.key);
    out.push_back({key + "_bits_per_second", fmt::format("{}, Gbit/s", way.name), Column::Align::right, {}});
    out.push_back({key + "_limit", "limited by", Column::Align::left, {}});
    out.push_back({key + "_messages_per_second", "", Column::Align::right, {}});
  }
  out.push_back({"gain", "pair / standard", Column::Align::right, {}});
  out.push_back({"delivered_seconds", shown(question.latency, "delivered, us"), Column::Align::right, {}});
  out.push_back({"completed_seconds", shown(question.latency, "completed, us"), Column::Align::right, {}});
  out.push_back({"pair_completed_seconds", shown(question.latency, "with the pair, us"), Column::Align::right, {}});
  return out;
}

/// Where a given cap exceeds the line rate less headers, one of the two figures is wrong.
void check_cap(const ThroughputQuestion& question, std::vector<std::string>& notes) {
  if (question.scenario.cap_bps == 0) return;
  Scenario largest = at(question, question.round_trips.front(), *std::ranges::max_element(question.messages)).standard;
  largest.cap_bps = 0;
  const double carried = line_cap(largest);
  const double cap = static_cast<double>(question.scenario.cap_bps);
  if (cap <= carried) return;
  notes.push_back(fmt::format(
      "Contradiction: the cap, {}, is above what {} carries in packets of {} B payload on {} B of the line, {}: "
      "the cap, the rate or the packet size is wrong.",
      rate_text(cap), rate_text(static_cast<double>(question.scenario.link.rate_bps)), question.scenario.hosts.path_mtu,
      full_frame({question.scenario.hosts.path_mtu, false, 0}), rate_text(carried)));
}

}  // namespace

std::vector<std::uint64_t> usual_messages() {
  std::vector<std::uint64_t> out;
  for (std::uint64_t message = 2; message <= 8ull << 20; message *= 2) out.push_back(message);
  return out;
}

Json facts_of(const Scenario& scenario, Kind kind) {
  Json facts;
  facts["kind"] = name_of(kind);
  facts["operation"] = name_of(scenario.operation);
  facts["rate_bits_per_second"] = scenario.link.rate_bps;
  facts["qps"] = scenario.hosts.qps;
  facts["path_mtu"] = scenario.hosts.path_mtu;
  facts["turnaround_seconds"] = in_seconds(scenario.hosts.turnaround);
  return facts;
}

Report report(const ThroughputQuestion& question) {
  const Scenario& scenario = question.scenario;
  const bool single = question.round_trips.size() == 1;
  const double rate = static_cast<double>(scenario.link.rate_bps);
  const std::string where =
      single ? fmt::format(", round trip {} ({})", time_text(in_seconds(question.round_trips.front())),
                           path_text(question.round_trips.front()))
             : "";
  Report out;
  const std::string operation = capitals(name_of(scenario.operation));
  out.title = fmt::format("RC {} over {}{}, {} QP{}: calculated", operation, rate_text(rate), where, scenario.hosts.qps,
                          scenario.hosts.qps == 1 ? "" : "s");
  const Ways some = at(question, question.round_trips.front(), question.messages.front());
  out.lines = {
      hosts_text("standard", scenario.operation, some.standard.hosts),
      hosts_text("deep queues", scenario.operation, some.deep.hosts),
      fmt::format("{:<12} hosts as in standard; {} to the box and back, a frame each {} and worker, {} worker{}",
                  "pair", time_text(in_seconds(scenario.pair.local_round_trip)),
                  time_text(in_seconds(scenario.pair.frame_time)), scenario.pair.workers,
                  scenario.pair.workers == 1 ? "" : "s")};

  Table table("rows", "Payload", Kind::calculated, columns(question));
  std::set<Limit> limits;
  for (const Duration round_trip : question.round_trips) {
    for (const std::uint64_t message : question.messages) {
      const Ways here = at(question, round_trip, message);
      std::vector<Cell> cells = {round_trip_cell(round_trip), kilometres_cell(round_trip), size_cell(message),
                                 count(line_bytes(scenario.operation, message, scenario.hosts.path_mtu))};
      double rates[std::size(kWays)];
      for (std::size_t i = 0; i < std::size(kWays); ++i) {
        const Prediction prediction = predict(here.*kWays[i].scenario);
        rates[i] = prediction.bits_per_second;
        limits.insert(prediction.limit);
        cells.push_back(gigabits(prediction.bits_per_second));
        cells.push_back(word(std::string(key_of(prediction.limit))));
        cells.push_back(number(prediction.messages_per_second));
      }
      const double gain = rates[2] / rates[0];
      cells.push_back({fmt::format("{:.{}f} x", gain, gain < 9.95 ? 1 : 0), gain});
      const Latency alone = latency(here.standard);
      cells.push_back(microseconds_cell(alone.delivered));
      cells.push_back(microseconds_cell(alone.completed));
      cells.push_back(microseconds_cell(latency(here.pair).completed));
      table.add(std::move(cells));
    }
  }
  out.tables.push_back(std::move(table));
  out.tables.push_back(tcp_table(scenario, question.round_trips, question.tcp));

  std::string words;
  for (const Limit limit : limits)
    words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", key_of(limit), name_of(limit));
  out.notes.push_back("Limited by: " + words + ".");
  if (scenario.operation == Operation::read)
    out.notes.push_back("A pair does not help READ: only the far host has the data.");
  out.notes.push_back(tcp_note(question.tcp));
  check_cap(question, out.notes);

  out.facts = facts_of(scenario, Kind::calculated);
  Json& facts = out.facts;
  for (const Way& way : kWays) {
    const Hosts& hosts = (some.*way.scenario).hosts;
    facts["ways"][std::string(way.key)] = {{"depth", hosts.depth},
                                           {"moderation", hosts.moderation},
                                           {"nic_depth", hosts.nic_depth},
                                           {"read_depth", hosts.read_depth},
                                           {"under_way", outstanding(scenario.operation, hosts).messages}};
  }
  warn_of_timers(*std::ranges::max_element(question.round_trips), out);
  out.advice = summarize(question);
  return out;
}

Plot plot(const ThroughputQuestion& question) {
  const bool distances = question.round_trips.size() > 1;
  if (distances && question.messages.size() > 1)
    throw std::invalid_argument(
        "several distances and several message sizes: a plot can vary only one of them (give one --message, or one "
        "--distance)");
  const Scenario& scenario = question.scenario;
  const std::string operation = capitals(name_of(scenario.operation));
  const std::string rate = rate_text(static_cast<double>(scenario.link.rate_bps));
  Plot out;
  out.title = distances
                  ? fmt::format("RC {} of {}, {}", operation, size_text(question.messages.front()), rate)
                  : fmt::format("RC {} over {}, {}", operation, distance_text(question.round_trips.front()), rate);
  out.x = distances ? Axis{"distance, km of fibre", true, Axis::Marks::numbers}
                    : Axis{"message size", true, Axis::Marks::bytes};
  out.y = {"payload, Gbit/s", true, Axis::Marks::numbers};
  const auto [least, most] = std::ranges::minmax(question.round_trips);
  for (const Way& way : kWays) {
    const Hosts hosts = (at(question, question.round_trips.front(), question.messages.front()).*way.scenario).hosts;
    Series series{fmt::format("{} ({} under way)", way.name, outstanding(scenario.operation, hosts).messages), {}, {}};
    series.marked = !distances;
    for (const Duration round_trip : distances ? distances_between(least, most) : question.round_trips)
      for (const std::uint64_t message : question.messages) {
        series.x.push_back(distances ? kilometres(round_trip) : static_cast<double>(message));
        series.y.push_back(predict(at(question, round_trip, message).*way.scenario).bits_per_second / 1e9);
      }
    out.series.push_back(std::move(series));
  }
  return out;
}

}  // namespace longhaul::plan
