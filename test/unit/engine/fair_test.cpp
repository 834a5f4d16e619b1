// SPDX-License-Identifier: BSD-3-Clause
// Design rule 9: what one pair of hosts does costs another at most its share.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/fair_share.hpp"
#include "engine/backlog.hpp"
#include "engine/fair_limit.hpp"
#include "engine/next_hop.hpp"
#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// A connection of one of several tenants, each with hosts of its own.
Pair of_tenant(unsigned tenant, unsigned number) {
  Pair pair;
  pair.a_ip = "10." + std::to_string(tenant) + ".0.1";
  pair.b_ip = "10." + std::to_string(tenant) + ".0.2";
  pair.a_qpn = 0x100 * tenant + number;
  pair.b_qpn = 0x10000 * tenant + number;
  pair.a_comm = 0xa000000 + 0x100 * tenant + number;
  pair.b_comm = 0xb000000 + 0x100 * tenant + number;
  pair.transaction = 0x7000 + 0x100 * tenant + number;
  return pair;
}

/// The tenant whose host sent an IPv4 frame.
unsigned sender(const Seen& seen) { return seen.bytes[seen.ip + 13]; }

}  // namespace

TEST_CASE("a pair of hosts has half of a limit for itself, and leaves some for each other", "[engine][fair]") {
  engine::FairLimit limit(12, 3);
  unsigned first = 0;
  while (limit.take(0)) ++first;
  CHECK(first == 6);
  unsigned second = 0;
  while (limit.take(1)) ++second;
  CHECK(second == 3);
  CHECK(limit.take(2));
  CHECK(limit.take(engine::NextHops::kNone));  // a pair without a number
  limit.give_back(0, 6);
  CHECK(limit.held() == 5);
  while (limit.take(1)) ++second;
  CHECK(second == 5);
  CHECK(limit.held_by(1) == 5);
}

TEST_CASE("the backlog goes round by pairs of hosts, and within a pair by connections", "[engine][fair]") {
  engine::Backlog backlog(8, 2);
  const auto rest = [&backlog] {
    std::vector<flow::ConnectionIndex> order;
    while (!backlog.empty()) {
      order.push_back(backlog.pop());
      backlog.sent(engine::Backlog::kTurnBytes);
    }
    return order;
  };
  CHECK_FALSE(backlog.others_wait(0));
  for (const flow::ConnectionIndex connection : {1u, 2u, 3u}) backlog.push(connection, 0);
  CHECK_FALSE(backlog.others_wait(0));
  CHECK(backlog.others_wait(1));
  for (const flow::ConnectionIndex connection : {4u, 5u}) backlog.push(connection, 1);
  CHECK(backlog.others_wait(0));
  CHECK(rest() == std::vector<flow::ConnectionIndex>{1, 4, 2, 5, 3});
  backlog.push(6, 1);
  backlog.push(7, 77);  // pairs without a number share a place
  backlog.push(0, 99);
  CHECK(rest() == std::vector<flow::ConnectionIndex>{6, 7, 0});
}

TEST_CASE("a turn is as long in small frames as in large ones, and goes on where the pace interrupted it",
          "[engine][fair]") {
  engine::Backlog backlog(8, 2);
  // One connection for each of two pairs: frames of 100 bytes, and of 9000. The pace allows one frame at a time.
  constexpr std::uint64_t kSizes[] = {100, 9000};
  std::uint64_t bytes[2] = {};
  backlog.push(0, 0);
  backlog.push(1, 1);
  while (bytes[0] + bytes[1] < 10'000'000) {
    const flow::ConnectionIndex connection = backlog.pop();
    backlog.push(connection, connection);  // it still has frames
    CHECK(backlog.turn_bytes() > 0);
    bytes[connection] += kSizes[connection];
    backlog.sent(kSizes[connection]);
  }
  CHECK(bytes[0] > 4'950'000);
  CHECK(bytes[1] > 4'950'000);
}

TEST_CASE("who comes back to the backlog has one whole turn, whatever its last one was", "[engine][fair]") {
  engine::Backlog backlog(8, 2);
  const std::uint64_t last = GENERATE(0, 100, engine::Backlog::kTurnBytes, engine::Backlog::kTurnBytes + 5000);
  backlog.push(0, 0);
  backlog.pop();
  backlog.sent(last);
  REQUIRE(backlog.empty());
  backlog.push(0, 0);
  CHECK(backlog.turn_bytes() == engine::Backlog::kTurnBytes);
}

TEST_CASE("a tenant with four connections has no more of the pace than one with a single connection",
          "[engine][fair]") {
  Rig rig(slow_settings());
  constexpr unsigned kMany = 4;
  for (unsigned i = 0; i < kMany; ++i) rig.connect_confirmed(of_tenant(1, i));
  rig.connect_confirmed(of_tenant(2, 0));
  rig.wait(milliseconds(100));
  rig.at_wan();
  // The first frame of the first tenant goes at once. All others wait.
  for (unsigned i = 0; i < kMany; ++i) rig.host_sends(of_tenant(1, i).writes(101, 3, kLarge));
  rig.host_sends(of_tenant(2, 0).writes(101, 4, kLarge));
  rig.wan_out.clear();
  rig.wait(milliseconds(33) * 8);
  REQUIRE(rig.wan_out.size() >= 7);
  // A turn is less than three frames.
  const auto of_second = std::ranges::count_if(rig.wan_out.begin(), rig.wan_out.begin() + 6,
                                               [](const Seen& seen) { return sender(seen) == 2; });
  CHECK(of_second == 3);
}

TEST_CASE("what one tenant has just sent does not go before what others wait to send", "[engine][fair]") {
  Rig rig(slow_settings());
  rig.connect_confirmed(of_tenant(1, 0));
  rig.connect_confirmed(of_tenant(2, 0));
  rig.wait(milliseconds(100));
  rig.at_wan();
  rig.host_sends(of_tenant(2, 0).writes(101, 2, kLarge));  // the second waits
  rig.wan_out.clear();
  rig.now += milliseconds(40);  // the pace allows one frame, and the burst of the first tenant is there first
  rig.host_sends(of_tenant(1, 0).write(101, kLarge));
  REQUIRE(rig.wan_out.size() == 1);
  CHECK(sender(rig.wan_out[0]) == 2);
}

TEST_CASE("one tenant that closes all its connections leaves others room for their DREQs", "[engine][fair]") {
  auto settings = small_settings();
  settings.max_held_dreqs = 4;
  Rig rig(settings);
  for (unsigned i = 0; i < 4; ++i) rig.connect_confirmed(of_tenant(1, i));
  rig.connect_confirmed(of_tenant(2, 0));
  for (unsigned i = 0; i < 4; ++i) rig.host_sends({of_tenant(1, i).write(101), of_tenant(1, i).dreq(Side::host)});
  CHECK(rig.count(Counter::dreqs_held) == 2);
  CHECK(rig.count(Counter::absorbed_dreqs) == 2);
  rig.host_sends({of_tenant(2, 0).write(101), of_tenant(2, 0).dreq(Side::host)});
  CHECK(rig.count(Counter::dreqs_held) == 3);

  // What is answered makes room again, and RDMA-CM repeats its DREQ.
  rig.at_wan();
  rig.wan_sends(of_tenant(1, 0).ack(101, 2));
  CHECK(rig.at_wan() == Lines{"dreq"});
  rig.host_sends(of_tenant(1, 3).dreq(Side::host));
  CHECK(rig.count(Counter::dreqs_held) == 4);
}

TEST_CASE("what RDMA-CM announces does not keep custody for longer than the configuration allows", "[engine][fair]") {
  auto settings = small_settings();
  settings.longest_give_up = seconds(100);
  Rig rig(settings);
  Pair pair;
  pair.ack_timeout = 31;  // 2.4 hours, 7 times
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wait(seconds(99));
  CHECK(rig.count(Counter::flows_failed) == 0);
  rig.wait(seconds(3));
  CHECK(rig.count(Counter::flows_failed) == 1);
}

TEST_CASE("a drain does not wait for what nobody was promised", "[engine][fair]") {
  Rig rig;
  const Pair unconfirmed = of_tenant(1, 0);
  rig.connect(unconfirmed);
  rig.host_sends(unconfirmed.write(100));
  const Pair promised = of_tenant(2, 0);
  rig.connect_confirmed(promised);
  rig.host_sends(promised.write(101));
  REQUIRE(rig.engine->custody_packets() == 2);

  rig.engine->set_draining(true);
  rig.engine->poll(rig.now);
  CHECK(rig.engine->custody_packets() == 1);
  rig.wan_sends(promised.ack(101, 2));
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::flows_failed) == 0);

  // The other requester repeats its request, which passes; so does the answer.
  rig.at_wan();
  rig.at_host();
  rig.host_sends(unconfirmed.write(100));
  rig.wan_sends(unconfirmed.ack(100, 1));
  CHECK(rig.at_wan() == Lines{"write_only 100!"});
  CHECK(rig.at_host() == Lines{"ack 100 msn 1"});
}

TEST_CASE("a pair's share of what does not divide evenly is rounded up", "[engine][fair]") {
  CHECK(pair_limit_of(5, 0.5) == 3);
  CHECK(pair_limit_of(10, 0.5) == 5);
  CHECK(pair_limit_of(1, 0.1) == 1);
  CHECK(pair_limit_of(7, 1) == 7);
}

TEST_CASE("custody of which nothing was acknowledged makes no room for its own hosts", "[engine][fair]") {
  auto settings = small_settings();
  settings.custody_mbufs = 12;
  constexpr Pair::Extra kSize{true, 1400};  // larger than a small buffer
  Rig rig(settings);
  const Pair confirmed = of_tenant(1, 0);
  rig.connect_confirmed(confirmed);
  const Pair unanswered = of_tenant(1, 1);
  rig.connect(unanswered);
  rig.host_sends(unanswered.writes(100, 20, kSize));
  REQUIRE(rig.engine->custody_packets() == 12);
  rig.host_sends(confirmed.writes(101, 4, kSize));
  CHECK(rig.count(Counter::custody_made_room) == 0);
  CHECK(rig.engine->custody_packets() == 12);
}

TEST_CASE("the same, where others have what fills custody", "[engine][fair]") {
  auto settings = small_settings();
  settings.custody_box_bytes = 12 * Pair{}.write(0).size();
  settings.custody_pair_share = 0.9;
  Rig rig(settings);
  const Pair confirmed = of_tenant(1, 0);
  rig.connect_confirmed(confirmed);
  const Pair unanswered = of_tenant(1, 1);
  rig.connect(unanswered);
  rig.host_sends(unanswered.writes(100, 2));
  rig.connect_confirmed(of_tenant(2, 0));
  rig.host_sends(of_tenant(2, 0).writes(101, 10));
  REQUIRE(rig.engine->custody_packets() == 12);
  rig.host_sends(confirmed.write(101));
  CHECK(rig.count(Counter::custody_refused_box) == 1);
  CHECK(rig.count(Counter::custody_made_room) == 0);
  CHECK(rig.engine->custody_packets() == 12);
}

TEST_CASE("custody of which nothing was acknowledged makes room for what may be", "[engine][fair]") {
  auto settings = small_settings();
  const bool bytes = GENERATE(true, false);
  const std::size_t size = bytes ? 64 : 1400;  // larger than a small buffer
  if (bytes)
    settings.custody_box_bytes = 12 * Pair{}.write(0).size();
  else
    settings.custody_mbufs = 12;
  Rig rig(settings);
  const Pair victim = of_tenant(2, 0);
  rig.connect_confirmed(victim);
  // The hoarder's responder answers nothing, so nothing is acknowledged.
  const Pair hoarder = of_tenant(1, 0);
  rig.connect(hoarder);
  rig.host_sends(hoarder.writes(100, 20, {true, size}));
  REQUIRE(rig.engine->custody_packets() == 12);
  rig.at_host();
  rig.host_sends(victim.writes(101, 4, {true, size}));
  CHECK(rig.at_host().size() == 4);
  CHECK(rig.engine->custody_packets() == 4);
  CHECK(rig.count(Counter::custody_made_room) == 1);

  // But not what was acknowledged.
  const Pair third = of_tenant(3, 0);
  rig.connect_confirmed(third);
  rig.host_sends(victim.writes(105, 8, {true, size}));
  REQUIRE(rig.engine->custody_packets() == 12);
  rig.at_host();
  rig.host_sends(third.write(101, {true, size}));
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 12);
  CHECK(rig.count(Counter::flows_failed) == 0);
  CHECK(rig.count(Counter::custody_made_room) == 1);
}

TEST_CASE("what waits for the pace is sent before a drain lets go of it", "[engine][fair]") {
  Rig rig(slow_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wait(milliseconds(100));
  rig.at_wan();
  rig.host_sends(pair.writes(101, 3, {false, 4000}));  // nobody asks for an ACK, so none is promised
  rig.engine->set_draining(true);
  rig.engine->poll(rig.now);
  rig.wait(milliseconds(200));
  CHECK(rig.at_wan() == Lines{"write_only 101", "write_only 102", "write_only 103"});
}

TEST_CASE("requests of one tenant to unknown QPNs do not stop what others learn from traffic", "[engine][fair]") {
  auto settings = small_settings();
  settings.max_candidates = 16;
  Rig rig(settings);
  rig.engine->poll(rig.now);
  rig.wait(seconds(1));
  Pair strange = of_tenant(1, 0);
  const auto flood = [&] {
    for (unsigned i = 0; i < 40; ++i) {
      strange.b_qpn = 0x3000 + strange.b_qpn % 0x1000 + 1;
      rig.host_sends(strange.write(1000 * i));
      rig.now += milliseconds(1);
    }
  };
  const Pair pair = of_tenant(2, 0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    flood();
    rig.host_sends(pair.write(100 + i));
    flood();
    rig.wan_sends(pair.ack(100 + i, 41 + i));
  }
  CHECK(rig.count(Counter::traffic_table_full) > 0);
  CHECK(rig.count(Counter::connections_from_traffic) == 1);
}

TEST_CASE("a NAK that no request of the flow fits is no loss of the link", "[engine][fair]") {
  // Without a rate, nothing is acknowledged early beyond 16 KiB until a round trip without loss has doubled that.
  auto settings = small_settings();
  settings.estimate_wan_rate = true;
  const auto acknowledged = [&settings](bool forged) {
    Rig rig(settings);
    const Pair pair;
    rig.connect_confirmed(pair);
    std::uint32_t psn = 101;
    std::uint32_t msn = 1;
    for (unsigned round = 0; round < 12; ++round) {
      for (unsigned i = 0; i < 40; ++i) rig.host_sends(pair.write(psn + i, {true, 1000}));
      if (forged) rig.wan_sends(pair.nak(psn, 0x700000));
      rig.wait(milliseconds(10));
      psn += 40;
      msn += 40;
      rig.wan_sends(pair.ack(psn - 1, msn));
      rig.wait(milliseconds(1));
    }
    return rig.count(Counter::pseudo_acks);
  };
  const std::uint64_t undisturbed = acknowledged(false);
  CHECK(undisturbed > 12 * 20);  // the room has grown
  CHECK(acknowledged(true) == undisturbed);
}

TEST_CASE("a pair of hosts has no more than its share of custody, however long it keeps it", "[engine][fair]") {
  auto settings = small_settings();
  settings.custody_pair_share = 0.5;
  const bool bytes = GENERATE(true, false);
  const std::size_t size = bytes ? 64 : 1400;  // larger than a small buffer
  if (bytes)
    settings.custody_box_bytes = 20 * Pair{}.write(0).size();
  else
    settings.custody_mbufs = 20;
  Rig rig(settings);
  // Acknowledged by the box, and by nobody else.
  for (unsigned i = 0; i < 2; ++i) {
    rig.connect_confirmed(of_tenant(1, i));
    rig.at_host();
    rig.host_sends(of_tenant(1, i).writes(101, 8, {true, size}));
  }
  CHECK(rig.engine->custody_packets() == 10);
  CHECK(rig.count(Counter::custody_refused_pair) == 1);  // its flow is plain from there on

  rig.connect_confirmed(of_tenant(2, 0));
  rig.at_host();
  rig.host_sends(of_tenant(2, 0).writes(101, 9, {true, size}));
  CHECK(rig.at_host().size() == 9);
  CHECK(rig.engine->custody_packets() == 19);

  // What is answered makes room.
  rig.wan_sends(of_tenant(1, 0).ack(108, 9));
  CHECK(rig.engine->custody_packets() == 11);
  rig.host_sends(of_tenant(1, 0).write(109, {true, size}));
  CHECK(rig.engine->custody_packets() == 12);
}

TEST_CASE("two hosts alone may have all of custody, and give it up when others ask", "[engine][fair]") {
  auto settings = small_settings();
  settings.custody_box_bytes = 20 * Pair{}.write(0).size();
  Rig rig(settings);
  for (unsigned i = 0; i < 4; ++i) rig.connect_confirmed(of_tenant(1, i));
  rig.connect_confirmed(of_tenant(2, 0));
  for (unsigned i = 0; i < 4; ++i) rig.host_sends(of_tenant(1, i).writes(101, 5));
  REQUIRE(rig.engine->custody_packets() == 20);
  rig.host_sends(of_tenant(2, 0).write(101));
  CHECK(rig.count(Counter::custody_refused_box) == 1);
  rig.wan_sends(of_tenant(2, 0).ack(101, 2));

  // From now on the first pair takes no more than its share of what becomes free.
  rig.wan_sends(of_tenant(1, 0).ack(105, 6));
  rig.host_sends(of_tenant(2, 0).write(102));
  rig.wan_sends(of_tenant(2, 0).ack(102, 3));
  rig.at_host();
  rig.host_sends(of_tenant(2, 0).writes(103, 4));
  CHECK(rig.engine->custody_packets() == 19);
  rig.host_sends(of_tenant(1, 0).write(106));
  CHECK(rig.count(Counter::custody_refused_pair) == 1);
  CHECK(rig.engine->custody_packets() == 19);
}

TEST_CASE("a pair of hosts has no more than its share of the connection table", "[engine][fair]") {
  auto settings = small_settings();
  settings.max_connections = 8;
  settings.connections_pair_share = 0.5;
  Rig rig(settings);
  for (unsigned i = 0; i < 8; ++i) rig.connect(of_tenant(1, i));
  CHECK(rig.count(Counter::connections_learned) == 4);
  CHECK(rig.count(Counter::connection_pair_full) == 4);
  for (unsigned i = 0; i < 4; ++i) rig.connect(of_tenant(2, i));
  CHECK(rig.count(Counter::connections_learned) == 8);

  // With its own idle one it makes room for itself.
  rig.wait(seconds(601));
  rig.connect(of_tenant(1, 8));
  CHECK(rig.count(Counter::connections_learned) == 9);
  CHECK(rig.count(Counter::connections_closed) == 1);
  CHECK(rig.count(Counter::connections_made_room) == 0);
}

TEST_CASE("where the connection table is full, hosts with more connections make room", "[engine][fair]") {
  auto settings = small_settings();
  settings.max_connections = 8;
  Rig rig(settings);
  for (unsigned i = 0; i < 8; ++i) rig.connect_confirmed(of_tenant(1, i));
  for (unsigned i = 0; i < 7; ++i) rig.host_sends(of_tenant(1, i).write(101));
  // One connection of the first pair has nothing in custody.
  rig.connect(of_tenant(2, 0));
  CHECK(rig.count(Counter::connections_made_room) == 1);
  CHECK(rig.count(Counter::connections_learned) == 9);
  CHECK(rig.engine->custody_packets() == 7);
  // The others have, and it is promised.
  rig.connect(of_tenant(3, 0));
  CHECK(rig.count(Counter::connections_learned) == 9);
  CHECK(rig.count(Counter::connection_table_full) == 1);
  // Nobody makes room for hosts that have as many.
  rig.wan_sends(of_tenant(1, 0).ack(101, 2));
  rig.connect(of_tenant(2, 1));
  CHECK(rig.count(Counter::connections_made_room) == 2);
  rig.connect(of_tenant(1, 9));
  CHECK(rig.count(Counter::connections_made_room) == 2);
}

TEST_CASE("a repeat does not send all that waits where others wait too", "[engine][fair]") {
  Rig rig(slow_settings());
  rig.connect_confirmed(of_tenant(1, 0));
  rig.connect_confirmed(of_tenant(2, 0));
  rig.wait(milliseconds(100));
  rig.host_sends(of_tenant(1, 0).writes(101, 100, kLarge));
  rig.host_sends(of_tenant(2, 0).writes(101, 2, kLarge));
  rig.wan_out.clear();
  rig.now += milliseconds(1);
  rig.host_sends(of_tenant(1, 0).write(102, kLarge));
  CHECK(rig.wan_out.empty());
}

TEST_CASE("a packet that just fits into a small buffer takes up no receive buffer", "[engine][fair]") {
  auto settings = small_settings();
  settings.custody_mbufs = 4;  // from the third on, small buffers are used
  const bool fits = GENERATE(true, false);
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  for (Bytes& frame : pair.writes(101, 8, {true, 1200})) {
    frame.resize(engine::Pools::kSmallBytes.back() + (fits ? 0 : 1));  // a switch may have padded it
    rig.host_sends(frame);
  }
  CHECK(rig.engine->custody_packets() == (fits ? 8 : 4));
}

TEST_CASE("a pair that keeps many packets in custody does not cause others' packets to be copied", "[engine][fair]") {
  auto settings = small_settings();
  settings.custody_mbufs = 16;
  settings.custody_pair_share = 0.5;
  Rig rig(settings);
  rig.connect_confirmed(of_tenant(1, 0));
  rig.connect_confirmed(of_tenant(2, 0));
  // A pair may have eight receive buffers. From the fifth on, small buffers are used.
  rig.host_sends(of_tenant(1, 0).writes(101, 20));
  REQUIRE(rig.engine->custody_packets() == 20);
  const unsigned copies = Rig::small_buffers_in_use();
  CHECK(copies == 16 + 1);  // the buffer for the next copy is taken already
  rig.host_sends(of_tenant(2, 0).writes(101, 4));
  CHECK(Rig::small_buffers_in_use() == copies);
  rig.host_sends(of_tenant(2, 0).write(105));
  CHECK(Rig::small_buffers_in_use() == copies + 1);
  CHECK(rig.engine->custody_packets() == 25);
}

TEST_CASE("what custody holds leaves buffers for DREQs", "[engine][fair]") {
  auto settings = small_settings();
  settings.custody_mbufs = 4;
  Rig rig(settings);
  const Pair pair = of_tenant(1, 0);
  rig.connect_confirmed(pair);
  rig.connect_confirmed(of_tenant(2, 0));
  // As many as there are small buffers that fit.
  for (std::uint32_t psn = 101; psn < 101 + 20'000 && rig.count(Counter::custody_refused_mbufs) == 0; psn += 20)
    rig.host_sends(pair.writes(psn, 20, {true, 1000}));
  REQUIRE(rig.count(Counter::custody_refused_mbufs) == 1);
  rig.host_sends({of_tenant(2, 0).write(101), of_tenant(2, 0).dreq(Side::host)});
  CHECK(rig.count(Counter::dreqs_held) == 1);
}

TEST_CASE("forged REQs do not keep a host's own connections out", "[engine][fair]") {
  auto settings = small_settings();
  settings.max_connections = 8;
  settings.connections_pair_share = 0.5;
  Rig rig(settings);
  // Our host's service answers REQs in the far host's name. The far host has sent none, so it confirms none.
  for (unsigned i = 0; i < 6; ++i) {
    Pair forged = of_tenant(1, i);
    forged.active = Side::wan;
    rig.wan_sends(forged.req());
    rig.host_sends(forged.rep());
  }
  CHECK(rig.count(Counter::connections_learned) == 6);
  CHECK(rig.count(Counter::connections_made_room) == 2);
  rig.connect_confirmed(of_tenant(1, 6));
  rig.at_host();
  rig.host_sends(of_tenant(1, 6).write(101));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
}
