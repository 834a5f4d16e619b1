// SPDX-License-Identifier: BSD-3-Clause
#include "expose/families.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <utility>

#include "expose/counter_places.hpp"
#include "expose/fold.hpp"
#include "wire/frame.hpp"

namespace longhaul::expose {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::initializer_list<Label>;

double number(std::uint64_t value) { return static_cast<double>(value); }
double flag(bool value) { return value ? 1 : 0; }

class Families {
 public:
  MetricFamily& begin(MetricType type, std::string_view name, std::string_view help) {
    return out_.emplace_back(MetricFamily{std::string(name), std::string(help), type, {}});
  }
  void add(double value, Labels labels = {}) { add(value, std::span(labels.begin(), labels.size())); }
  void add(double value, std::span<const Label> labels) {
    ClientMetric& metric = labelled(labels);
    metric.counter.value = metric.gauge.value = value;
  }
  void gauge(std::string_view name, std::string_view help, double value) {
    begin(MetricType::Gauge, name, help);
    add(value);
  }
  void histogram(std::string_view name, std::string_view help, const metrics::Histogram& values, Edges edges) {
    begin(MetricType::Histogram, name, help);
    labelled({}).histogram = fold(values, edges);
  }
  std::vector<MetricFamily> take() { return std::move(out_); }

 private:
  ClientMetric& labelled(std::span<const Label> labels) {
    ClientMetric& metric = out_.back().metric.emplace_back();
    for (const auto& [name, value] : labels) metric.label.push_back({std::string(name), std::string(value)});
    return metric;
  }
  std::vector<MetricFamily> out_;
};

void add_identity(Families& out, const Identity& its) {
  out.begin(MetricType::Gauge, "longhaul_build_info", "always 1; the labels name the version and build of the program");
  out.add(1, {{"version", its.version}, {"dpdk", its.dpdk}, {"icrc", its.icrc}});
  out.begin(MetricType::Gauge, "longhaul_configuration_info", "always 1; the labels show the configuration of the box");
  std::vector<Label> labels = {{"name", its.name}};
  for (const auto& [key, value] : its.configuration) labels.emplace_back(key, value);
  out.add(1, labels);
  out.gauge("process_start_time_seconds", "start of the process, in seconds since 1970", its.started);
}

void add_state(Families& out, const Snapshot& its) {
  out.gauge("longhaul_bypass", "1: bypass is on, frames pass without inspection", flag(its.total.bypass));
  out.gauge("longhaul_draining", "1: the box drains and acknowledges nothing new", flag(its.total.draining));
  out.gauge("longhaul_snapshot_age_seconds",
            "age of the workers' values; it stays near 0 unless a worker does not answer", in_seconds(its.age));
  out.begin(MetricType::Gauge, "longhaul_worker_alive", "1: the worker's loop is running; 0: it stands still");
  for (std::size_t i = 0; i < its.workers.size(); ++i)
    out.add(flag(its.workers[i].alive), {{"worker", std::to_string(i)}});
}

/// A family with a series for each `Row`.
template <typename Row>
struct Family {
  MetricType type;
  std::string_view name;
  std::string_view help;
  double (*value)(const Row&);
};

void add_workers(Families& out, const std::vector<WorkerState>& workers) {
  static constexpr Family<WorkerState> kEach[] = {
      {MetricType::Counter, "longhaul_worker_busy_seconds_total", "time that a worker spent in rounds with frames",
       [](const WorkerState& w) { return in_seconds(w.report.activity.busy); }},
      {MetricType::Counter, "longhaul_worker_run_seconds_total", "time that a worker's loop has run",
       [](const WorkerState& w) { return in_seconds(w.report.activity.ran); }},
      {MetricType::Counter, "longhaul_worker_rounds_total", "rounds of a worker's loop, with or without frames",
       [](const WorkerState& w) { return number(w.report.activity.rounds); }},
      {MetricType::Counter, "longhaul_worker_received_frames_total", "frames that a worker's engine received",
       [](const WorkerState& w) { return number(w.report.received_frames()); }},
      {MetricType::Gauge, "longhaul_worker_custody_bytes", "frame bytes in a worker's custody",
       [](const WorkerState& w) { return number(w.report.custody_bytes); }},
  };
  for (const auto& family : kEach) {
    out.begin(family.type, family.name, family.help);
    for (std::size_t i = 0; i < workers.size(); ++i) out.add(family.value(workers[i]), {{"worker", std::to_string(i)}});
  }
}

void add_ports(Families& out, const BySide<PortState>& ports) {
  out.begin(MetricType::Gauge, "longhaul_port_link_up", "1: the link of the port is up");
  for (const Side side : kSides) out.add(flag(ports[side].link_up), {{"port", name_of(side)}});
  out.begin(MetricType::Gauge, "longhaul_port_info", "always 1; the label names the device of the port");
  for (const Side side : kSides) out.add(1, {{"port", name_of(side)}, {"device", ports[side].device}});
  struct Shown {
    PortFamily family;
    std::string_view name;
    std::string_view help;
    std::string_view label;
  };
  static constexpr Shown kShown[] = {
      {PortFamily::frames, "longhaul_port_frames_total", "frames counted by the port itself", "direction"},
      {PortFamily::bytes, "longhaul_port_bytes_total", "bytes counted by the port itself; some NICs include the FCS",
       "direction"},
      {PortFamily::errors, "longhaul_port_errors_total",
       "frames lost by a port, and failed attempts to get a receive buffer, by kind", "kind"},
  };
  for (const Shown& shown : kShown) {
    out.begin(MetricType::Counter, shown.name, shown.help);
    for (const Side side : kSides)
      for (const PortFigure& figure : kPortFigures)
        if (figure.family == shown.family)
          out.add(number(ports[side].stats.*figure.value), {{"port", name_of(side)}, {shown.label, figure.label}});
  }
}

void add_counters(Families& out, const Counters& counters) {
  std::string_view family;
  for (const CounterPlace& place : counter_places()) {
    if (place.family != family) {
      const std::string_view help = family_help(place.family);
      family = place.family;
      out.begin(MetricType::Counter, family,
                help.empty() ? metrics::kCounterInfo[static_cast<std::size_t>(place.counter)].help : help);
    }
    const std::uint64_t value = counters[place.counter] - (place.less ? counters[*place.less] : 0);
    const double scaled = number(value) * place.unit;
    if (place.label.empty())
      out.add(scaled);
    else
      out.add(scaled, {{place.label, place.value}});
  }
  constexpr std::string_view kPrefix = "parse_";
  out.begin(MetricType::Counter, "longhaul_parsed_frames_total", "received frames by the result of parsing them");
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i)
    out.add(number(counters.parsed[i]),
            {{"result", wire::name_of(static_cast<wire::ParseStatus>(i)).substr(kPrefix.size())}});
}

void add_custody(Families& out, const Snapshot& its) {
  out.gauge("longhaul_custody_bytes", "frame bytes in custody", number(its.total.custody_bytes));
  out.gauge("longhaul_custody_packets", "packets in custody", number(its.total.custody_packets));
  out.gauge("longhaul_custody_limit_bytes", "frame bytes that custody may hold",
            number(its.identity.custody_limit_bytes));
  out.gauge("longhaul_custody_flow_limit_bytes", "frame bytes that custody may hold for one flow",
            number(its.identity.custody_flow_limit_bytes));
  out.gauge("longhaul_wan_rate_bytes_per_second", "configured wan_rate; 0: not configured",
            number(its.identity.wan_rate_bps) / 8);
  out.gauge("longhaul_wan_pace_bytes_per_second", "highest rate at which custody is sent to the WAN; 0: unlimited",
            number(its.total.link.pace_bps) / 8);
  out.gauge("longhaul_wan_estimated_rate_bytes_per_second",
            "rate that the WAN carries, estimated from answers; 0: the WAN was not full in the last 10 s",
            number(its.total.link.rate_bps) / 8);
  out.gauge("longhaul_wan_least_round_trip_seconds", "shortest WAN round trip of the last 10 to 20 s; 0: unknown",
            in_seconds(its.total.link.round_trip));
  out.gauge("longhaul_wan_queueing_seconds",
            "queueing delay on the WAN: how much longer than the shortest round trip all recent answers took",
            in_seconds(its.total.link.queued));
  out.gauge("longhaul_waiting_frames", "received frames that were neither sent nor dropped yet",
            number(its.total.waiting_frames));
}

void add_survey(Families& out, const Snapshot& its) {
  const SurveyResult& survey = its.survey;
  out.gauge("longhaul_connection_slots", "connections that can be followed at once",
            number(its.identity.connection_slots));
  out.gauge("longhaul_survey_age_seconds",
            "age of the last survey of all connections, which longhaul_connections*, longhaul_unconfirmed_bytes, "
            "longhaul_custody_oldest_seconds and longhaul_pair* show",
            in_seconds(its.survey_age));
  out.begin(MetricType::Gauge, "longhaul_connections",
            "connections followed, by state of the requests from the box's host, by what the box learned them from, "
            "and by policy");
  for (std::size_t phase = 0; phase < kPhases; ++phase)
    for (std::size_t source = 0; source < kSources; ++source)
      for (std::size_t policy = 0; policy < kPolicies; ++policy)
        out.add(
            number(survey.connections[phase][source][policy]),
            {{"state", kPhaseNames[phase]}, {"source", source_name(source != 0)}, {"policy", kPolicyNames[policy]}});
  out.gauge("longhaul_connections_closing", "connections that are closing: a DREQ has passed or waits for custody",
            number(survey.closing));
  out.gauge("longhaul_connections_untrusted",
            "connections no longer accelerated because an answer contradicted the counts of the box",
            number(survey.untrusted));
  out.gauge("longhaul_unconfirmed_bytes", "frame bytes acknowledged to requesters but not yet confirmed by responders",
            number(survey.unconfirmed_bytes));
  out.gauge("longhaul_custody_oldest_seconds", "longest time that the custody of a connection has made no progress",
            in_seconds(survey.oldest));
  out.gauge("longhaul_pairs", "pairs of hosts with connections, including pairs without series of their own",
            number(survey.pairs_seen));
}

/// A series for each cause, or for each that there ever was.
void add_plain(Families& out, const Asked& asked, std::span<const Label> labels, bool also_none) {
  std::vector<Label> all(labels.begin(), labels.end());
  all.emplace_back();
  for (std::size_t i = 0; i < kPlainCauses; ++i) {
    if (asked.plain[i] == 0 && !also_none) continue;
    all.back() = {"reason", kPlainCauseInfo[i].name};
    out.add(number(asked.plain[i]), all);
  }
}

void add_asked(Families& out, const Asked& asked) {
  out.begin(MetricType::Counter, "longhaul_ack_requests_total",
            "SENDs and WRITEs with AckReq from the host side, accelerated or not, known connections or not, estimated "
            "from samples");
  out.add(number(asked.all()));
  out.begin(MetricType::Counter, "longhaul_not_accelerated_requests_total",
            "those of longhaul_ack_requests_total that were not accelerated, by cause");
  add_plain(out, asked, {}, true);
}

void add_pairs(Families& out, const std::vector<PairState>& pairs) {
  if (pairs.empty()) return;
  static constexpr Family<PairState> kEach[] = {
      {MetricType::Gauge, "longhaul_pair_connections", "connections between two hosts",
       [](const PairState& p) { return number(p.sums.connections); }},
      {MetricType::Gauge, "longhaul_pair_custody_bytes", "frame bytes in custody for two hosts",
       [](const PairState& p) { return number(p.sums.custody_bytes); }},
      {MetricType::Gauge, "longhaul_pair_unconfirmed_bytes",
       "frame bytes between two hosts that are acknowledged but not yet confirmed",
       [](const PairState& p) { return number(p.sums.unconfirmed_bytes); }},
      {MetricType::Counter, "longhaul_pair_taken_bytes_total",
       "frame bytes between two hosts ever taken into custody, without those that a connection sends between the last "
       "survey and its end",
       [](const PairState& p) { return number(p.taken_bytes); }},
      {MetricType::Counter, "longhaul_pair_refused_requests_total",
       "requests between two hosts that custody had no room for; what follows such a request passes plain for a while",
       [](const PairState& p) { return number(p.refused); }},
      {MetricType::Counter, "longhaul_pair_processor_seconds_total",
       "time that workers spent for two hosts, estimated from samples",
       [](const PairState& p) { return p.processor_seconds; }},
      {MetricType::Counter, "longhaul_pair_ack_requests_total",
       "SENDs and WRITEs with AckReq between two hosts, accelerated or not, estimated from samples",
       [](const PairState& p) { return number(p.asked.all()); }},
  };
  const auto with_labels = [](const PairState& pair, auto&& add) {
    const Label labels[] = {{"host", pair.host}, {"remote", pair.remote}, {"vlan", pair.vlan}};
    add(std::span(labels, pair.vlan.empty() ? 2 : 3));
  };
  for (const auto& family : kEach) {
    out.begin(family.type, family.name, family.help);
    for (const PairState& pair : pairs)
      with_labels(pair, [&](std::span<const Label> labels) { out.add(family.value(pair), labels); });
  }
  out.begin(
      MetricType::Counter, "longhaul_pair_not_accelerated_requests_total",
      "those of longhaul_pair_ack_requests_total that were not accelerated, by cause; only causes that there ever "
      "were");
  for (const PairState& pair : pairs)
    with_labels(pair, [&](std::span<const Label> labels) { add_plain(out, pair.asked, labels, false); });
}

void add_peers(Families& out, const peer::PeersReport& its) {
  using peer::PeerReport;
  static constexpr Family<PeerReport> kEach[] = {
      {MetricType::Gauge, "longhaul_peer_up", "1: the peer is there, and shares a key with the box",
       [](const PeerReport& p) { return flag(p.state == peer::State::up); }},
      {MetricType::Gauge, "longhaul_peer_repairs", "1: the peer is there, and the two boxes repair flows together",
       [](const PeerReport& p) { return flag(p.repairs); }},
      {MetricType::Gauge, "longhaul_peer_resolved", "1: the MAC address of the next hop towards the peer is known",
       [](const PeerReport& p) { return flag(p.resolved); }},
      {MetricType::Gauge, "longhaul_peer_round_trip_seconds",
       "smoothed round trip to the peer and back, without the time that it kept the question; 0: not measured",
       [](const PeerReport& p) { return in_seconds(p.round_trip); }},
      {MetricType::Gauge, "longhaul_peer_session_age_seconds", "since the newest session with the peer was made",
       [](const PeerReport& p) { return in_seconds(p.session_age); }},
      {MetricType::Counter, "longhaul_peer_went_down_total", "times that a peer that was up went down",
       [](const PeerReport& p) { return number(p.went_down); }},
      {MetricType::Counter, "longhaul_peer_restarts_total",
       "times that a peer came back without memory of its sessions: it had been restarted",
       [](const PeerReport& p) { return number(p.restarts); }},
      {MetricType::Counter, "longhaul_peer_handshakes_total", "sessions made with the peer",
       [](const PeerReport& p) { return number(p.handshakes); }},
      {MetricType::Counter, "longhaul_peer_sent_datagrams_total", "datagrams made for the peer",
       [](const PeerReport& p) { return number(p.sent); }},
      {MetricType::Counter, "longhaul_peer_received_datagrams_total", "authentic datagrams from the peer",
       [](const PeerReport& p) { return number(p.received); }},
  };
  for (const auto& family : kEach) {
    out.begin(family.type, family.name, family.help);
    for (const PeerReport& peer : its.peers) out.add(family.value(peer), {{"peer", peer.name}});
  }
  out.begin(MetricType::Counter, "longhaul_peer_dropped_datagrams_total",
            "datagrams to the box that were dropped, by reason; from an address that is no peer's, with an empty peer");
  const auto add = [&out](std::string_view peer, const peer::ByDrop& dropped) {
    for (std::size_t i = 0; i < peer::kDrops; ++i)
      out.add(number(dropped[i]), {{"peer", peer}, {"reason", peer::kDropNames[i]}});
  };
  for (const PeerReport& peer : its.peers) add(peer.name, peer.dropped);
  const auto unknown = static_cast<std::size_t>(peer::Drop::unknown_source);
  out.add(number(its.from_unknown_sources), {{"peer", ""}, {"reason", peer::kDropNames[unknown]}});
  out.begin(MetricType::Counter, "longhaul_own_frames_not_understood_total",
            "frames to the box's address that are neither ARP, Neighbour Discovery, ICMP echo nor a peer's");
  out.add(number(its.not_understood));
  out.begin(MetricType::Counter, "longhaul_own_address_conflicts_total",
            "frames from the WAN in which another machine says that it has the box's address, or wants it");
  out.add(number(its.address_conflicts));
  out.begin(MetricType::Counter, "longhaul_own_frames_unread_total",
            "frames to the box's address that were dropped unread: there were more than the box reads in a second");
  out.add(number(its.unread));
  out.begin(MetricType::Counter, "longhaul_own_frames_unsent_total",
            "frames of the box's own that the WAN port did not take, or for which there was no buffer");
  out.add(number(its.unsent));
}

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    default:
      return "untyped";
  }
}

/// A snapshot with a pair, a worker and a peer, so that each family has a series.
Snapshot example() {
  Snapshot out;
  out.workers.resize(1);
  out.survey.pairs.resize(1);
  out.survey.pairs[0].vlan = "100";
  out.total.peers.emplace().peers.resize(1);
  out.survey.pairs[0].asked.plain[0] = 1;
  out.identity.configuration = {{"policy", ""}, {"confirm", ""}, {"spread", ""}, {"idle", ""}, {"workers", ""}};
  return out;
}

std::string label_names(const MetricFamily& family) {
  std::string out;
  for (const ClientMetric::Label& label : family.metric.front().label)
    out += (out.empty() ? "`" : ", `") + label.name + "`";
  return out;
}

}  // namespace

std::vector<MetricFamily> families(const Snapshot& snapshot) {
  Families out;
  add_identity(out, snapshot.identity);
  add_state(out, snapshot);
  add_ports(out, snapshot.ports);
  add_counters(out, snapshot.total.counters);
  add_custody(out, snapshot);
  out.histogram("longhaul_wan_round_trip_seconds",
                "WAN round trip: from the first transmission of a request to its answer", snapshot.total.wan_rtt,
                kRoundTripEdges);
  out.histogram("longhaul_pseudo_ack_delay_seconds",
                "delay of pseudo-ACKs: from receipt of the request until the host port has taken the pseudo-ACK",
                snapshot.total.pseudo_ack_delay, kDelayEdges);
  add_workers(out, snapshot.workers);
  add_survey(out, snapshot);
  add_asked(out, snapshot.survey.asked);
  add_pairs(out, snapshot.survey.pairs);
  if (snapshot.total.peers) add_peers(out, *snapshot.total.peers);
  return out.take();
}

std::string metrics_text(const Snapshot& snapshot) {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families(snapshot));
  return out.str();
}

std::string metrics_page() {
  std::string out =
      "# Metrics\n\n"
      "What a box shows under `/metrics` ([how to switch it on](monitoring.md)).\n"
      "`longhaul metrics` makes this page; a test compares the two.\n\n"
      "| metric | type | labels | what |\n|---|---|---|---|\n";
  for (const MetricFamily& family : families(example()))
    out += "| `" + family.name + "` | " + std::string(type_name(family.type)) + " | " + label_names(family) + " | " +
           cell(family.help) + " |\n";
  out +=
      "\n## Labels that say why\n\n"
      "The last column is the name of the same number in `--stats` and at the end of `longhaul run`.\n\n"
      "| series | what | counter |\n|---|---|---|\n";
  for (const CounterPlace& place : counter_places()) {
    if (place.label.empty()) continue;
    const metrics::CounterInfo& info = metrics::kCounterInfo[static_cast<std::size_t>(place.counter)];
    out += "| `" + series_name(place) + "` | " + cell(std::string(info.help)) +
           (place.less ? ", except those counted under the other " + std::string(place.label) : std::string()) +
           " | `" + std::string(info.name) + "` |\n";
  }
  out +=
      "\n## Why requests are not accelerated\n\n"
      "The label `reason` of `longhaul_not_accelerated_requests_total` and "
      "`longhaul_pair_not_accelerated_requests_total`.\n"
      "What passes because of an earlier request counts for its reason.\n\n"
      "| reason | of the requests |\n|---|---|\n";
  for (const PlainCauseInfo& cause : kPlainCauseInfo)
    out += "| `" + std::string(cause.name) + "` | " + std::string(cause.why) + " |\n";
  return out;
}

}  // namespace longhaul::expose
