// SPDX-License-Identifier: BSD-3-Clause
#include "expose/status.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

namespace longhaul::expose {
namespace {

/// A plot shows no more than four digits, and ten minutes of values are sent every other second.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
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

Json port_json(Side side, const PortState& port) {
  Json out;
  out["port"] = name_of(side);
  out["device"] = port.device;
  out["link"] = port.link_up ? "up" : "down";
  add_port_figures(out, "", port.stats);
  out["lost_frames"] = port.stats.lost();
  return out;
}

Json link_json(const Snapshot& snapshot) {
  const engine::LinkState& link = snapshot.total.link;
  return {{"wan_rate_bps", snapshot.identity.wan_rate_bps},
          {"pace_bps", link.pace_bps},
          {"estimated_rate_bps", link.rate_bps},
          {"least_round_trip_seconds", in_seconds(link.round_trip)},
          {"queued_seconds", in_seconds(link.queued)}};
}

Json flows_json(const SurveyResult& survey) {
  Json out;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < kPhases; ++i) total += survey.in_phase(static_cast<Phase>(i));
  out["total"] = total;
  for (std::size_t i = 0; i < kPhases; ++i) out[std::string(kPhaseNames[i])] = survey.in_phase(static_cast<Phase>(i));
  return out;
}

Json counters_of(const Snapshot& snapshot, std::span<const Counter> counters) {
  Json out;
  for (const Counter counter : counters)
    out[std::string(metrics::kCounterInfo[static_cast<std::size_t>(counter)].name)] = snapshot.total.counters[counter];
  return out;
}

/// RoCE by port, and what was seen of it inside what is not taken apart.
Json roce_json(const Counters& counters) {
  constexpr std::string_view kInside = "parse_roce_in_";
  Json out = {{"host_frames", counters[Counter::roce_host]}, {"wan_frames", counters[Counter::roce_wan]}};
  out["inside"] = Json::object();
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i)
    if (const std::string_view name = wire::name_of(static_cast<wire::ParseStatus>(i)); name.starts_with(kInside))
      out["inside"][std::string(name.substr(kInside.size()))] = counters.parsed[i];
  return out;
}

constexpr Counter kCounted[] = {Counter::frames_host, Counter::bytes_host, Counter::frames_wan,
                                Counter::bytes_wan,   Counter::requests,   Counter::requests_unlearned,
                                Counter::pseudo_acks, Counter::resends,    Counter::failed_bytes};
constexpr Counter kLost[] = {Counter::flows_failed,
                             Counter::failed_bytes,
                             Counter::flows_failed_by_restart,
                             Counter::failed_by_restart_bytes,
                             Counter::dropped_port_full,
                             Counter::dropped_ring_full};

/// The causes that there were between the last two surveys, the most frequent one first.
Json not_accelerated(const Asked& asked, double seconds) {
  std::vector<PlainCause> causes;
  for (std::size_t i = 0; i < kPlainCauses; ++i)
    if (asked.plain[i] > 0) causes.push_back(static_cast<PlainCause>(i));
  std::ranges::stable_sort(causes, std::greater{}, [&asked](PlainCause cause) { return asked.share_of(cause); });
  Json out = Json::array();
  for (const PlainCause cause : causes) {
    const auto at = static_cast<std::size_t>(cause);
    out.push_back({{"cause", kPlainCauseInfo[at].name},
                   {"why", kPlainCauseInfo[at].why},
                   {"per_second", rounded(per_second(asked.plain[at], seconds))},
                   {"share", rounded(asked.share_of(cause))}});
  }
  return out;
}

Json peer_json(const peer::PeerReport& peer) {
  Json out = {{"name", peer.name},
              {"address", peer.address.to_string()},
              {"state", peer::name_of(peer.state)},
              {"state_seconds", in_seconds(peer.in_state)}};
  if (peer.state != peer::State::up) out["down_because"] = peer::name_of(peer.down_cause);
  out["repairs_flows"] = peer.repairs;
  out["next_hop_known"] = peer.resolved;
  out["hears_this_box"] = peer.hears_us;
  out["round_trip_seconds"] = in_seconds(peer.round_trip);
  out["least_round_trip_seconds"] = in_seconds(peer.least_round_trip);
  if (peer.silent_for == kNever)
    out["silent_seconds"] = nullptr;
  else
    out["silent_seconds"] = in_seconds(peer.silent_for);
  out["epoch"] = peer.epoch == 0 ? Json(nullptr) : Json(peer::id_text(peer.epoch));
  out["version"] = peer.version;
  out["workers"] = peer.workers;
  out["key_id"] = peer.sessions == 0 ? Json(nullptr) : Json(peer::id_text(peer.key_id));
  out["sessions"] = peer.sessions;
  out["session_seconds"] = in_seconds(peer.session_age);
  if (peer.its_highest != 0) out["refused_with_versions"] = {peer.its_lowest, peer.its_highest};
  out["sent"] = peer.sent;
  out["received"] = peer.received;
  out["handshakes"] = peer.handshakes;
  out["went_down"] = peer.went_down;
  out["restarts"] = peer.restarts;
  const auto drops = [](const peer::ByDrop& dropped) {
    Json all = Json::object();
    for (std::size_t i = 0; i < peer::kDrops; ++i) all[std::string(peer::kDropNames[i])] = dropped[i];
    return all;
  };
  out["dropped"] = drops(peer.dropped);
  out["dropped_since_down"] = drops(peer.dropped_lately);
  return out;
}

Json pair_json(const PairState& pair, double seconds) {
  return {{"host", pair.host},
          {"remote", pair.remote},
          {"vlan", pair.vlan},
          {"connections", pair.sums.connections},
          {"custody_bytes", pair.sums.custody_bytes},
          {"unconfirmed_bytes", pair.sums.unconfirmed_bytes},
          {"bytes_per_second", rounded(pair.bytes_per_second)},
          {"refused_per_second", rounded(pair.refused_per_second)},
          {"processors", rounded(pair.processors)},
          {"ack_requests_per_second", rounded(per_second(pair.asked_lately.all(), seconds))},
          {"not_accelerated", not_accelerated(pair.asked_lately, seconds)}};
}

}  // namespace

Json status_json(const Snapshot& snapshot) {
  Json out;
  out["name"] = snapshot.identity.name;
  out["version"] = snapshot.identity.version;
  out["state"] = name_of(snapshot.state());
  out["bypass"] = snapshot.total.bypass;
  out["draining"] = snapshot.total.draining;
  out["time"] = snapshot.time;
  out["started"] = snapshot.identity.started;
  out["uptime_seconds"] = in_seconds(snapshot.uptime);
  out["snapshot_age_seconds"] = in_seconds(snapshot.age);
  out["workers"] = Json::array();
  for (const WorkerState& worker : snapshot.workers)
    out["workers"].push_back({{"alive", worker.alive}, {"custody_bytes", worker.report.custody_bytes}});
  out["ports"] = Json::array();
  for (const Side side : kSides) out["ports"].push_back(port_json(side, snapshot.ports[side]));
  out["custody"] = {{"packets", snapshot.total.custody_packets},
                    {"bytes", snapshot.total.custody_bytes},
                    {"limit_bytes", snapshot.identity.custody_limit_bytes},
                    {"oldest_seconds", in_seconds(snapshot.survey.oldest)}};
  out["unconfirmed_bytes"] = snapshot.survey.unconfirmed_bytes;
  out["link"] = link_json(snapshot);
  out["flows"] = flows_json(snapshot.survey);
  out["connection_slots"] = snapshot.identity.connection_slots;
  if (snapshot.total.peers) {
    out["peers"] = Json::array();
    for (const peer::PeerReport& peer : snapshot.total.peers->peers)
      out["peers"].push_back({{"name", peer.name},
                              {"state", peer::name_of(peer.state)},
                              {"round_trip_seconds", in_seconds(peer.round_trip)}});
  }
  out["roce"] = roce_json(snapshot.total.counters);
  out["lost"] = counters_of(snapshot, kLost);
  out["counted"] = counters_of(snapshot, kCounted);
  return out;
}

Json pairs_json(const SurveyResult& survey) {
  Json out;
  out["pairs_seen"] = survey.pairs_seen;
  out["pairs"] = Json::array();
  for (const PairState& pair : survey.busiest) out["pairs"].push_back(pair_json(pair, survey.seconds));
  out["ack_requests_per_second"] = rounded(per_second(survey.asked_lately.all(), survey.seconds));
  out["not_accelerated"] = not_accelerated(survey.asked_lately, survey.seconds);
  Json counted = {{"at_seconds", in_seconds(survey.at)}, {"ack_requests", survey.asked.all()}};
  for (std::size_t i = 0; i < kPlainCauses; ++i)
    counted["not_accelerated"][std::string(kPlainCauseInfo[i].name)] = survey.asked.plain[i];
  out["counted_by_surveys"] = std::move(counted);
  return out;
}

Json peers_json(const Snapshot& snapshot) {
  Json out;
  out["peers"] = Json::array();
  if (!snapshot.total.peers) return out;
  const peer::PeersReport& its = *snapshot.total.peers;
  out["address"] = its.address.to_string();
  out["epoch"] = peer::id_text(its.epoch);
  for (const peer::PeerReport& peer : its.peers) out["peers"].push_back(peer_json(peer));
  out["from_unknown_sources"] = its.from_unknown_sources;
  out["address_conflicts"] = its.address_conflicts;
  out["not_understood"] = its.not_understood;
  out["unread"] = its.unread;
  out["unsent"] = its.unsent;
  return out;
}

std::string status_page_json(const Snapshot& snapshot, const History& history) {
  Json out = status_json(snapshot);
  out.update(pairs_json(snapshot.survey));
  out["history"] = history_of(history);
  return out.dump();
}

}  // namespace longhaul::expose
