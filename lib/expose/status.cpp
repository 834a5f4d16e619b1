// SPDX-License-Identifier: BSD-3-Clause
#include "expose/status.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

namespace longhaul::expose {
namespace {

using Json = nlohmann::ordered_json;

/// A plot shows no more than four digits, and ten minutes of values are sent every other second.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

Json history_of(const History& history) {
  Json out;
  for (const History::Sample& sample : history.samples()) out["time"].push_back(std::round(sample.time * 10) / 10);
  for (std::size_t i = 0; i < kColumns; ++i) {
    Json& column = out[std::string(history_columns()[i].name)];
    column = Json::array();
    for (const History::Sample& sample : history.samples())
      column.push_back(sample.values[i] ? Json(rounded(*sample.values[i])) : Json());
  }
  return out;
}

Json connections_of(const SurveyResult& survey) {
  Json out;
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    std::uint64_t sum = 0;
    for (const auto& source : survey.connections[phase]) sum = std::accumulate(source.begin(), source.end(), sum);
    out[std::string(engine::name_of(static_cast<custody::Phase>(phase)))] = sum;
  }
  return out;
}

Json port_of(const char* name, const PortState& port) {
  return {{"port", name},
          {"device", port.device},
          {"link_up", port.link_up},
          {"received_frames", port.received_frames},
          {"sent_frames", port.sent_frames},
          {"lost_frames", port.missed + port.receive_errors + port.send_errors + port.oversize}};
}

}  // namespace

std::string_view state_of(const Snapshot& snapshot) {
  if (!std::all_of(snapshot.workers.begin(), snapshot.workers.end(), [](const auto& w) { return w.alive; }))
    return "silent";
  if (snapshot.bypass) return "bypass";
  return snapshot.draining ? "draining" : "running";
}

Json link_json(std::uint64_t wan_rate_bps, const engine::LinkState& link) {
  return {{"wan_rate_bps", wan_rate_bps},
          {"pace_bps", link.pace_bps},
          {"estimated_rate_bps", link.rate_bps},
          {"least_round_trip_seconds", in_seconds(link.round_trip)},
          {"queued_seconds", in_seconds(link.queued)}};
}

std::string status_json(const Snapshot& snapshot, const History& history) {
  const Counters& counters = snapshot.counters;
  Json out;
  out["name"] = snapshot.identity.name;
  out["version"] = snapshot.identity.version;
  out["state"] = state_of(snapshot);
  out["bypass"] = snapshot.bypass;
  out["draining"] = snapshot.draining;
  out["time"] = snapshot.time;
  out["started"] = snapshot.identity.started;
  out["snapshot_age_seconds"] = in_seconds(snapshot.age);
  out["custody"] = {{"bytes", snapshot.custody_bytes},
                    {"packets", snapshot.custody_packets},
                    {"limit_bytes", snapshot.identity.custody_limit_bytes},
                    {"oldest_seconds", in_seconds(snapshot.survey.oldest)}};
  out["link"] = link_json(snapshot.identity.wan_rate_bps, snapshot.link);
  out["unconfirmed_bytes"] = snapshot.survey.unconfirmed_bytes;
  out["connections"] = connections_of(snapshot.survey);
  out["connection_slots"] = snapshot.identity.connection_slots;
  out["flows_failed"] = counters[Counter::flows_failed] + counters[Counter::flows_failed_by_restart];
  out["lost_bytes"] = counters[Counter::failed_bytes] + counters[Counter::failed_by_restart_bytes];
  out["pseudo_acks"] = counters[Counter::pseudo_acks];
  out["resends"] = counters[Counter::resends];
  out["ports"] = {port_of("host", snapshot.ports[0]), port_of("wan", snapshot.ports[1])};
  out["workers"] = Json::array();
  for (const WorkerState& worker : snapshot.workers)
    out["workers"].push_back({{"alive", worker.alive}, {"custody_bytes", worker.custody_bytes}});
  out["pairs_seen"] = snapshot.survey.pairs_seen;
  out["pairs"] = Json::array();
  for (const PairState& pair : snapshot.survey.busiest)
    out["pairs"].push_back({{"host", pair.host},
                            {"remote", pair.remote},
                            {"vlan", pair.vlan},
                            {"connections", pair.sums.connections},
                            {"custody_bytes", pair.sums.custody_bytes},
                            {"unconfirmed_bytes", pair.sums.unconfirmed_bytes},
                            {"bytes_per_second", rounded(pair.bytes_per_second)}});
  out["history"] = history_of(history);
  return out.dump();
}

}  // namespace longhaul::expose
