// SPDX-License-Identifier: BSD-3-Clause
// Design section 4: what ends an old connection whose QPN is announced again, and what does not.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// A REQ in B's name with B's QPN, to a service that really listens on A. A's REP is genuine, and its QPN is new.
Pair forged_from_wan(const Pair& victim) {
  Pair forged = victim;
  forged.active = Side::wan;
  forged.a_qpn = 0x99;
  forged.a_comm = 0xa9;
  forged.b_comm = 0xf9;
  forged.transaction = 0x99;
  forged.a_psn = 7000;
  return forged;
}

/// The same in A's name, to a service on B.
Pair forged_from_host(const Pair& victim) {
  Pair forged = victim;
  forged.b_qpn = 0x99;
  forged.a_comm = 0xf9;
  forged.b_comm = 0xb9;
  forged.transaction = 0x99;
  forged.a_psn = 7000;
  return forged;
}

void answered(Rig& rig, const Pair& pair) {
  rig.active_sends(pair, pair.req());
  rig.passive_sends(pair, pair.rep());
}

/// The box acknowledges PSN 101, and the responder refuses it. The requester has not asked since.
void fail(Rig& rig, const Pair& pair) {
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wan_sends(pair.nak(101, 1, 2));
  REQUIRE(rig.count(Counter::flows_failed) == 1);
  rig.at_host();
  rig.at_wan();
}

}  // namespace

TEST_CASE("a forged REQ names a responder's QPN: its real requester is not taken for that of a neighbour in step",
          "[engine][identity]") {
  Rig rig;
  rig.engine->poll(rig.now);
  rig.wait(seconds(1));  // now it learns from traffic
  const Pair one;
  Pair two;
  two.a_qpn = 0x13;
  two.b_qpn = 0x24;
  Pair forged = forged_from_wan(one);
  forged.a_psn = 100;  // stacks that begin with a fixed PSN are easily guessed
  answered(rig, forged);
  rig.host_sends({one.write(100), two.write(100), one.write(101), two.write(101)});
  rig.wan_sends({one.ack(100, 1), one.ack(101, 2)});
  CHECK(rig.count(Counter::connections_from_traffic) == 0);
  CHECK(rig.count(Counter::traffic_ambiguous) == 2);
}

TEST_CASE("a forged REQ to a real listener discards no custody", "[engine][identity]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  const bool from_wan = GENERATE(true, false);
  const Pair forged = from_wan ? forged_from_wan(pair) : forged_from_host(pair);
  answered(rig, forged);
  rig.passive_sends(forged, forged.rep());  // nobody answers the REP, so it comes again
  rig.passive_sends(forged, forged.rej(other(forged.active)));
  CHECK(rig.engine->custody_packets() == 1);
  CHECK(rig.count(Counter::connections_closed) == 0);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 0);
  rig.at_host();
  rig.at_wan();
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.engine->custody_packets() == 0);
  // B still answers, so the connection still lives.
  rig.host_sends(pair.write(102));
  rig.wan_sends(pair.ack(102, 3));
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host().back() == "ack 103 msn 4");
  rig.wan_sends(pair.ack(103, 4));
}

TEST_CASE("forged REQs name PSNs anywhere: another life's ACK is taken for none of custody's", "[engine][identity]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});  // messages 2 and 3
  auto announce = [&, count = 0u](std::uint32_t psn) mutable {
    Pair forged = forged_from_wan(pair);
    forged.a_psn = psn;
    forged.a_qpn += ++count;
    forged.a_comm += count;
    forged.b_comm += count;
    forged.transaction += count;
    answered(rig, forged);
  };
  constexpr std::uint32_t kNewcomer = 32101;
  announce(kNewcomer);
  rig.host_sends({pair.write(kNewcomer), pair.write(kNewcomer + 1), pair.write(kNewcomer + 2)});
  rig.at_host();
  announce(pair.a_psn);
  announce(wire::psn_add(kNewcomer, -(1 << 23) - 100));
  rig.wan_sends(pair.ack(kNewcomer + 2, 3));
  CHECK(rig.count(Counter::flows_resumed) == 0);
  CHECK(rig.engine->custody_packets() == 2);
}

TEST_CASE("a failed flow stays until its requester was told, whatever REQs are forged", "[engine][identity]") {
  Rig rig;
  const Pair pair;
  fail(rig, pair);
  const bool from_wan = GENERATE(true, false);
  answered(rig, from_wan ? forged_from_wan(pair) : forged_from_host(pair));
  CHECK(rig.count(Counter::closed_untold_bytes) == 0);
  rig.at_host();
  rig.host_sends(pair.write(102));
  CHECK(rig.at_host() == Lines{"nak2 102 msn 2"});
}

TEST_CASE("a failed flow's own ACKs that come late do not teach it anew: its requester is told", "[engine][identity]") {
  Rig rig;
  rig.engine->poll(rig.now);
  rig.wait(seconds(1));  // now it learns from traffic
  Pair pair;
  pair.active = Side::wan;
  answered(rig, pair);
  // Before the RTU these may belong to any connection.
  for (std::uint32_t psn = 100; psn < 106; ++psn) rig.host_sends(pair.write(psn));
  rig.wan_sends({pair.rtu(), pair.ack(100, 1)});
  REQUIRE(rig.at_host().back() == "ack 105 msn 6");
  rig.wan_sends({pair.nak(105, 5, 2), pair.ack(101, 2), pair.ack(102, 3), pair.ack(103, 4)});
  REQUIRE(rig.count(Counter::flows_failed) == 1);
  CHECK(rig.count(Counter::connections_from_traffic) == 0);
  CHECK(rig.count(Counter::closed_untold_bytes) == 0);
  rig.at_host();
  rig.host_sends(pair.write(106));
  CHECK(rig.at_host() == Lines{"nak2 106 msn 6"});
}

TEST_CASE("the word of the active end ends the old connection: RTU, MRA or DREQ with both IDs", "[engine][identity]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  Pair again = forged_from_wan(pair);  // this time it really is B
  answered(rig, again);
  CHECK(rig.engine->custody_packets() == 1);
  Pair stranger = again;
  stranger.a_comm = 0xdead;
  rig.wan_sends({stranger.rtu(), stranger.dreq(Side::wan)});
  rig.host_sends(again.rtu());           // from the side where the active end is not
  rig.wan_sends(again.drep(Side::wan));  // hosts answer DREQs of exchanges that they do not know
  CHECK(rig.engine->custody_packets() == 1);
  const unsigned which = GENERATE(0u, 1u, 2u);
  rig.wan_sends(which == 0 ? again.rtu() : which == 1 ? again.mra(Side::wan) : again.dreq(Side::wan));
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 1);
  CHECK(rig.count(Counter::connections_learned) == 2);
}

TEST_CASE("between REP and RTU nothing new is acknowledged for the old connection", "[engine][identity]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  answered(rig, forged_from_wan(pair));
  rig.at_host();
  rig.host_sends(pair.write(101));
  CHECK(rig.at_host().empty());
  CHECK(rig.at_wan().back() == "write_only 101!");
}

TEST_CASE("a REP from the WAN that answers our host's REQ announces the responder's QPN at once",
          "[engine][identity]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  Pair again = forged_from_host(pair);
  again.a_qpn = 0x12;
  again.b_qpn = pair.b_qpn;
  answered(rig, again);
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 1);
  CHECK(rig.count(Counter::connections_learned) == 2);
}

TEST_CASE("learned by the RTU only: nothing is acknowledged before a real answer, even where RDMA-CM is enough",
          "[engine][identity]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  Pair pair;
  pair.active = Side::wan;
  rig.connect(pair);
  Pair again = forged_from_wan(pair);
  again.a_qpn = pair.a_qpn;
  answered(rig, again);
  rig.host_sends(again.write(7000));  // this request overtook the RTU
  rig.wan_sends(again.rtu());
  rig.at_host();
  rig.at_wan();
  rig.host_sends(again.write(7001));
  CHECK(rig.at_wan() == Lines{"write_only 7001!"});
  CHECK(rig.at_host().empty());
  rig.wan_sends(again.ack(7001, 2));
  rig.host_sends(again.write(7002));
  rig.wan_sends(again.ack(7002, 3));
  rig.at_host();
  rig.host_sends(again.write(7003));
  CHECK(rig.at_host() == Lines{"ack 7003 msn 4"});
}

TEST_CASE("what was learned from traffic since the REP is that connection, and the RTU does not end it",
          "[engine][identity]") {
  auto settings = small_settings();
  settings.learn_from_traffic = true;
  Rig rig(settings);
  Pair old;
  old.active = Side::wan;
  rig.connect_confirmed(old);
  Pair again = forged_from_wan(old);
  again.a_qpn = old.a_qpn;
  again.a_psn = 0x200000;  // far from the old one's
  answered(rig, again);
  rig.wait(seconds(2));
  std::uint32_t psn = again.a_psn;
  std::uint32_t msn = 0;
  for (; rig.count(Counter::connections_from_traffic) == 0 || msn < 8; ++psn) {
    rig.host_sends(again.write(psn));
    rig.wan_sends(again.ack(psn, ++msn));
    REQUIRE(msn < 100);
  }
  rig.host_sends(again.write(psn));
  REQUIRE(rig.engine->custody_packets() == 1);
  rig.wan_sends(again.rtu());
  CHECK(rig.engine->custody_packets() == 1);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 0);
}

TEST_CASE("the same exchange again after its end is a new connection", "[engine][identity]") {
  Rig rig;
  Pair pair;
  pair.active = GENERATE(Side::host, Side::wan);
  const unsigned how = GENERATE(0u, 1u, 2u);
  for (unsigned life = 1; life <= 3; ++life) {
    rig.connect_confirmed(pair);
    CHECK(rig.count(Counter::connections_learned) == life);
    rig.host_sends(pair.write(101));
    CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
    CHECK(rig.at_wan() == Lines{"write_only 101!"});
    rig.wan_sends(pair.ack(101, 2));
    if (how == 0) {
      rig.host_sends(pair.dreq(Side::host));
      rig.wan_sends(pair.drep(Side::wan));
    } else if (how == 1) {
      rig.wan_sends(pair.dreq(Side::wan));
      rig.host_sends(pair.drep(Side::host));
    } else {
      (pair.active == Side::host ? rig.host_sends(pair.rej(Side::host)) : rig.wan_sends(pair.rej(Side::wan)));
    }
    CHECK(rig.count(Counter::connections_closed) == life);
    rig.wait(milliseconds(20));
    rig.at_host();
    rig.at_wan();
  }
}

TEST_CASE("the same REQ or REP again: before any data a repeat, later a sign of another life", "[engine][identity]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.req());
  rig.wan_sends(pair.rep());
  rig.host_sends(pair.write(100));
  rig.wan_sends(pair.ack(100, 1));
  rig.at_host();
  rig.host_sends(pair.write(101));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  const bool req = GENERATE(true, false);
  if (req)
    rig.host_sends(pair.req());
  else
    rig.wan_sends(pair.rep());
  CHECK(rig.engine->custody_packets() == 1);
  rig.at_host();
  rig.host_sends(pair.write(102));
  CHECK(rig.at_host().empty());
  CHECK(rig.count(Counter::connections_learned) == 1);
  rig.wan_sends(pair.ack(102, 3));
}

TEST_CASE("another REP for an answered REQ is of another connection", "[engine][identity]") {
  Rig rig;
  Pair pair;
  pair.active = GENERATE(Side::host, Side::wan);
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.at_host();
  Pair again = pair;
  (pair.active == Side::host ? again.b_comm : again.a_comm) = 0xc9;
  again.a_psn = pair.active == Side::host ? 9000 : pair.a_psn;
  rig.active_sends(again, again.req());
  rig.passive_sends(again, again.rep());
  // The responder's own REP is proof; our host's REP is not.
  CHECK(rig.engine->custody_packets() == (pair.active == Side::host ? 0u : 1u));
  rig.active_sends(again, again.rtu());
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::connections_learned) == 2);
}

TEST_CASE("a REQ forged for a connection that nobody knows yet swallows nothing, also where RDMA-CM is enough",
          "[engine][identity]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  const Pair victim;  // set up before the box started
  Pair forged = forged_from_wan(victim);
  forged.a_psn = victim.a_psn;  // many stacks begin at a well-known PSN
  answered(rig, forged);
  REQUIRE(rig.count(Counter::connections_learned) == 1);
  rig.at_host();
  rig.at_wan();
  rig.host_sends({victim.write(100), victim.write(105)});
  CHECK(rig.at_wan() == Lines{"write_only 100!", "write_only 105!"});
  CHECK(rig.at_host().empty());
}

TEST_CASE("where RDMA-CM is enough, a REQ from the WAN is so with its RTU", "[engine][identity]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  Pair pair;
  pair.active = Side::wan;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  CHECK(rig.at_host() == Lines{"ack 100 msn 1"});
}

// The requester has answers to all requests, and ignores a NAK with an old PSN.
TEST_CASE("where RDMA-CM is enough, the RTU is not where requests passed before the REP", "[engine][identity]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  settings.learn_from_traffic = true;
  Rig rig(settings);
  Pair pair;
  pair.active = Side::wan;
  rig.host_sends(pair.write(100));
  rig.connect(pair);  // by a repeated REP
  REQUIRE(rig.count(Counter::connections_learned) == 1);
  rig.at_host();
  rig.at_wan();
  rig.host_sends({pair.write(100), pair.write(105)});
  CHECK(rig.at_wan() == Lines{"write_only 100!", "write_only 105!"});
  CHECK(rig.at_host().empty());
}
