// SPDX-License-Identifier: BSD-3-Clause
// Design section 4: flows from RDMA-CM. A flow is known when its requests are in custody and its first answer that
// agrees confirms it: `accelerated()` tests this.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// The responder answers the connection's first write, and the box answers the second.
bool accelerated(Rig& rig, const Pair& pair) {
  rig.host_sends(pair.write(pair.a_psn));
  rig.wan_sends(pair.ack(pair.a_psn, 1));
  rig.at_host();
  rig.host_sends(pair.write(pair.a_psn + 1));
  rig.at_wan();
  const Lines answers = rig.at_host();
  rig.wan_sends(pair.ack(pair.a_psn + 1, 2));
  rig.at_host();
  return answers == Lines{"ack " + std::to_string(pair.a_psn + 1) + " msn 2"};
}

}  // namespace

TEST_CASE("REQ and REP make a flow: the REP's starting PSN is what the REQ's sender starts with",
          "[engine][learning]") {
  Rig rig;
  const Pair pair;
  rig.host_sends(pair.req());
  rig.wan_sends(pair.rep());
  rig.host_sends(pair.rtu());
  CHECK(rig.at_wan() == Lines{"req", "rtu"});
  CHECK(rig.at_host() == Lines{"rep"});
  CHECK(rig.count(Counter::flows_learned) == 2);
  CHECK(accelerated(rig, pair));
}

TEST_CASE("a connection made from beyond the WAN is learned too: the REQ's starting PSN is the host's",
          "[engine][learning]") {
  Rig rig;
  Pair pair;
  pair.active = Side::wan;
  rig.connect(pair);
  CHECK(accelerated(rig, pair));
}

TEST_CASE("repeats of REQ and REP change nothing before there is data", "[engine][learning]") {
  Rig rig;
  const Pair pair;
  rig.host_sends({pair.req(), pair.req()});
  rig.wan_sends({pair.rep(), pair.rep()});
  CHECK(rig.at_wan() == Lines{"req", "req"});
  CHECK(rig.at_host() == Lines{"rep", "rep"});
  CHECK(rig.count(Counter::connections_learned) == 1);
  rig.connect_confirmed(pair);
  CHECK(rig.count(Counter::connections_learned) == 1);
  rig.host_sends(pair.write(101));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
}

TEST_CASE("REJ of the REQ: nothing is learned from a later REP", "[engine][learning]") {
  Rig rig;
  const Pair pair;
  rig.host_sends(pair.req());
  rig.wan_sends(pair.rej(Side::wan));
  rig.wan_sends(pair.rep());
  CHECK(rig.count(Counter::connections_learned) == 0);
  CHECK_FALSE(accelerated(rig, pair));
}

TEST_CASE("REJ of the REP ends the connection", "[engine][learning]") {
  Rig rig;
  const Pair pair;
  rig.host_sends(pair.req());
  rig.wan_sends(pair.rep());
  rig.host_sends(pair.rej(Side::host));
  CHECK(rig.count(Counter::connections_closed) == 1);
  CHECK_FALSE(accelerated(rig, pair));
}

TEST_CASE("REP from the side of the REQ is ignored", "[engine][learning]") {
  Rig rig;
  const Pair pair;
  rig.host_sends({pair.req(), pair.rep()});
  CHECK(rig.count(Counter::connections_learned) == 0);
  CHECK(rig.at_wan() == Lines{"req", "rep"});
}

TEST_CASE("CM messages with a bad ICRC teach nothing", "[engine][learning]") {
  Rig rig;
  const Pair pair;
  rig.host_sends(pair.req());
  rig.wan_sends(damaged(pair.rep()));
  CHECK(rig.at_host() == Lines{"rep bad-icrc"});
  CHECK(rig.count(Counter::connections_learned) == 0);
}

TEST_CASE("a forged REQ for a live connection changes nothing", "[engine][learning]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  Pair forged = pair;
  forged.transaction = 0x99;
  forged.a_psn = 7000;
  rig.host_sends(forged.req());
  rig.host_sends(pair.write(102));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3"});
  CHECK(rig.engine->custody_packets() == 2);
}

TEST_CASE("the responder's QPN announced anew by its owner: the old custody ends, counted, the new flow is learned",
          "[engine][learning]") {
  Rig rig;
  const Pair old;
  rig.connect_confirmed(old);
  rig.host_sends(old.write(101));
  Pair again = old;
  again.a_qpn = 0x12;
  again.transaction = 0x78;
  again.a_comm = 0xa2;
  again.b_comm = 0xb2;
  again.a_psn = 9000;
  rig.connect(again);
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 1);
  CHECK(accelerated(rig, again));
}

TEST_CASE("somebody names the requester's live QPN in a connection to another QP: its custody stays",
          "[engine][learning]") {
  // The RTU comes too, and only a host that has read the REP can send it: the host has given the QPN to another
  // connection.
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  Pair forged = pair;
  forged.b_qpn = 0x23;
  forged.transaction = 0x78;
  forged.a_comm = 0xa2;
  forged.b_comm = 0xb2;
  forged.a_psn = 9000;
  rig.connect(forged);
  CHECK(rig.engine->custody_packets() == 1);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 0);
  // The old connection's answers go to the newcomer's QPN, so the box says nothing for it any more.
  rig.at_host();
  rig.host_sends(pair.write(102));
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(102, 3));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("tenants in different VLANs with the same addresses and QPNs are different flows", "[engine][learning]") {
  Rig rig;
  Pair red;
  red.vlan = 10;
  Pair blue;
  blue.vlan = 20;
  blue.a_psn = 4000;
  rig.connect(red);
  rig.connect(blue);
  CHECK(rig.count(Counter::connections_learned) == 2);
  CHECK(accelerated(rig, red));
  CHECK(accelerated(rig, blue));
  Pair untagged;
  CHECK_FALSE(accelerated(rig, untagged));
}

TEST_CASE("IPv6 flows are learned and acknowledged", "[engine][learning]") {
  Rig rig;
  Pair pair;
  pair.a_ip = "fd00::1";
  pair.b_ip = "fd00::2";
  rig.connect(pair);
  CHECK(accelerated(rig, pair));
}

TEST_CASE("table full: the next connection passes through", "[engine][learning]") {
  auto settings = small_settings();
  settings.max_connections = 1;
  Rig rig(settings);
  Pair first;
  rig.connect(first);
  Pair second = first;
  second.a_qpn = 0x33;
  second.b_qpn = 0x44;
  second.transaction = 0x79;
  second.a_comm = 0xa9;
  second.b_comm = 0xb9;
  rig.connect(second);
  CHECK(rig.count(Counter::connection_table_full) == 1);
  // Its traffic then shows which ACKs are its own: both connections begin at the same PSN.
  rig.wait(seconds(2));
  CHECK_FALSE(accelerated(rig, second));
  CHECK(accelerated(rig, first));
}

TEST_CASE("table full and a QPN used again: the new connection is plain, not the old one's gap", "[engine][learning]") {
  auto settings = small_settings();
  settings.max_connections = 1;
  Rig rig(settings);
  const Pair old;
  rig.connect_confirmed(old);
  Pair again = old;
  again.transaction = 0x78;
  again.a_comm = 0xa2;
  again.b_comm = 0xb2;
  again.a_psn = 9000;
  rig.connect(again);
  rig.host_sends(again.write(9000));
  CHECK(rig.at_wan() == Lines{"write_only 9000!"});
  CHECK(rig.at_host().empty());
}

TEST_CASE("a REQ without a valid path MTU: no acknowledging behind READs of unknown length", "[engine][learning]") {
  Rig rig;
  Pair pair;
  pair.path_mtu = 0;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.wan_sends(pair.ack(100, 1));
  rig.at_host();
  rig.at_wan();
  rig.host_sends({pair.read(101, 4096), pair.write(105)});
  CHECK(rig.at_wan() == Lines{"read 101!", "write_only 105!"});
  CHECK(rig.at_host().empty());
}

TEST_CASE("REQs flood the table of exchanges: the oldest goes, nothing grows", "[engine][learning]") {
  Rig rig;
  for (unsigned i = 0; i < 100; ++i) {
    Pair pair;
    pair.transaction = i;
    pair.a_comm = i;
    rig.host_sends(pair.req());
  }
  CHECK(rig.count(Counter::cm_table_full) == 84);
  CHECK(rig.wan_out.size() == 100);
}
