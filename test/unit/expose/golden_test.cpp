// SPDX-License-Identifier: BSD-3-Clause
// Every view of one box, byte for byte: a script that reads a view finds its keys where they were. The files are in
// views/. To write them again after a wanted change: LONGHAUL_WRITE_VIEWS=1 build/test/unit/unit_expose "[golden]".
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "expose/families.hpp"
#include "expose/history.hpp"
#include "expose/snapshot.hpp"
#include "expose/statistics.hpp"
#include "expose/status.hpp"

using namespace longhaul;
using namespace longhaul::expose;

namespace {

WorkerReport report(std::uint64_t base) {
  WorkerReport out;
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i) out.counters.events[i] = base + i;
  out.counters.events[7] = 0;
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i) out.counters.parsed[i] = base + 500 + i;
  out.custody_packets = base + 601;
  out.custody_bytes = base + 602;
  out.waiting_frames = base + 603;
  out.link = {base + 604, base + 605, milliseconds(10), milliseconds(2)};
  out.activity = {base + 606, seconds(8), seconds(2)};
  for (unsigned i = 1; i <= 100; ++i) {
    out.pseudo_ack_delay.record(microseconds(i));
    out.wan_rtt.record(milliseconds(10) + microseconds(i));
  }
  return out;
}

PortState port(const char* device, std::uint64_t base, bool up) {
  return {device, up, {base + 1, base + 2, base + 3, base + 4, base + 5, base + 6, base + 7, base + 8, base + 9}};
}

/// A box in which no two values are alike, as far as that makes sense.
Snapshot busy_box() {
  Snapshot out;
  out.identity.name = "near";
  out.identity.version = "1.2.3";
  out.identity.dpdk = "DPDK 22.11";
  out.identity.icrc = "a routine";
  out.identity.started = 1000;
  out.identity.configuration = {{"policy", "full"}, {"workers", "2"}};
  out.identity.custody_limit_bytes = 9001;
  out.identity.custody_flow_limit_bytes = 9002;
  out.identity.wan_rate_bps = 9003;
  out.identity.connection_slots = 9004;
  out.time = 1012.5;
  out.uptime = milliseconds(12250);
  out.age = microseconds(250);
  for (const std::uint64_t base : {10'000, 20'000}) {
    out.workers.push_back({base == 10'000, report(base)});
    out.total += out.workers.back().report;
  }
  out.ports = {{port("net_af_packet0, iface veth0", 100, true), port("0000:01:00.1", 200, false)}};

  peer::PeersReport& peers = out.total.peers.emplace();
  peers.address = wire::IpAddress::from_ipv4({192, 0, 2, 1});
  peers.epoch = 0x701;
  peers.not_understood = 702;
  peers.unsent = 703;
  peers.address_conflicts = 705;
  peers.unread = 706;
  peers.from_unknown_sources = 704;
  for (const std::uint64_t base : {800, 900}) {
    peer::PeerReport& peer = peers.peers.emplace_back();
    const bool up = base == 800;
    peer.name = up ? "far" : "south";
    peer.address = wire::IpAddress::from_ipv4({198, 51, 100, static_cast<std::uint8_t>(up ? 1 : 2)});
    peer.state = up ? peer::State::up : peer::State::down;
    peer.down_cause = up ? peer::DownCause::never_up : peer::DownCause::silent;
    peer.in_state = seconds(base + 1);
    peer.resolved = up;
    peer.hears_us = up;
    if (!up) peer.its_lowest = 2, peer.its_highest = 3;
    peer.silent_for = up ? milliseconds(base + 2) : kNever;
    peer.sent = base + 3;
    peer.went_down = base + 4;
    for (std::size_t i = 0; i < peer::kDrops; ++i) peer.dropped[i] = base + 10 + i;
    if (!up) continue;
    peer.round_trip = microseconds(base + 5);
    peer.least_round_trip = microseconds(base + 4);
    peer.epoch = base + 6;
    peer.version = 1;
    peer.workers = 7;
    peer.key_id = base + 8;
    peer.sessions = 2;
    peer.session_age = seconds(base + 9);
    peer.received = base + 30;
    peer.handshakes = base + 31;
    peer.restarts = base + 32;
  }

  Survey survey(1);
  std::vector<engine::ConnectionState> connections;
  for (std::size_t phase = 0; phase < kPhases; ++phase)
    for (std::size_t i = 0; i <= phase; ++i) {
      engine::ConnectionState& one = connections.emplace_back();
      one.serial = connections.size();
      one.phase = static_cast<Phase>(phase);
      one.policy = static_cast<Policy>(i % kPolicies);
      one.from_traffic = i % 2 == 1;
      one.closing = i == 2;
      one.trusted = i != 3;
      one.unconfirmed_bytes = 31 * connections.size();
      one.custody_bytes = 17 * connections.size();
      one.lost_bytes = phase == static_cast<std::size_t>(Phase::failed) ? 5 : 0;
      one.oldest = milliseconds(connections.size());
      one.taken_bytes = 1000 * connections.size();
      one.refused_requests = connections.size();
      one.plain[connections.size() % kPlainCauses] = static_cast<std::uint32_t>(10 * connections.size());
      one.info.end(Side::host).ip =
          wire::IpAddress::from_ipv4({10, 0, 0, static_cast<std::uint8_t>(1 + connections.size() % 3)});
      one.info.end(Side::wan).ip = wire::IpAddress::from_ipv4({10, 9, 0, 1});
    }
  const std::vector<engine::BusyPair> busy = {
      {{connections[0].info.end(Side::host).ip, connections[0].info.end(Side::wan).ip, {}, 0},
       250'000'000,
       {16, 4000, 32, 48}},
      {{wire::IpAddress::from_ipv4({10, 66, 0, 1}), wire::IpAddress::from_ipv4({10, 66, 0, 2}), {}, 0},
       500'000'000,
       {0, 0, 0, 64}}};
  for (const Time now : {seconds(1), seconds(2)}) {
    survey.begin(now);
    survey.add(connections);
    survey.add(busy, 1e9);
    survey.finish();
    for (engine::ConnectionState& one : connections) one.taken_bytes += 100 * one.serial;
    for (engine::ConnectionState& one : connections) {
      one.refused_requests += one.serial % 2;
      one.plain[static_cast<std::size_t>(PlainCause::custody_box)] += static_cast<std::uint32_t>(one.serial);
    }
  }
  out.survey = survey.result();
  out.survey_age = milliseconds(300);
  return out;
}

/// Compares `view` with the file of that name, or writes the file.
void check(const std::string& name, const std::string& view) {
  const std::string path = std::string(TEST_ROOT) + "/unit/expose/views/" + name;
  if (std::getenv("LONGHAUL_WRITE_VIEWS") != nullptr) {
    std::ofstream(path) << view;
    return;
  }
  std::ifstream file(path);
  std::ostringstream expected;
  expected << file.rdbuf();
  CHECK(view == expected.str());
}

}  // namespace

TEST_CASE("the views of a box are what they were", "[golden]") {
  const Snapshot snapshot = busy_box();
  check("status.json", status_json(snapshot).dump(2) + '\n');
  check("counters.json", counters_json(snapshot).dump(2) + '\n');
  check("statistics.json", statistics_json(snapshot).dump(2) + '\n');
  check("statistics.txt", statistics_text(snapshot));
  check("metrics.txt", metrics_text(snapshot));
  check("peers.json", peers_json(snapshot).dump(2) + '\n');

  History history(2);
  Snapshot before = snapshot;
  before.time -= 1;
  history.add(before, seconds(1));
  Snapshot after = snapshot;
  after.total.counters[Counter::requests] += 12345;
  after.ports[Side::wan].stats.obytes += 1'000'000;
  after.total.wan_rtt.record(milliseconds(12), 3);
  after.workers[0].report.activity.ran += seconds(1);
  after.workers[0].report.activity.busy += milliseconds(125);
  history.add(after, seconds(2));
  check("status_page.json", Json::parse(status_page_json(after, history)).dump(2) + '\n');
}
