// SPDX-License-Identifier: BSD-3-Clause
// Design section 6: DREQ and DREP.
#include <algorithm>
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

TEST_CASE("the host's DREQ is held until custody is empty, then forwarded once", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.dreq(Side::host)});
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  rig.wait(milliseconds(10));
  rig.wan_sends(pair.ack(101, 2));
  rig.wait(seconds(10));
  CHECK(rig.at_wan() == Lines{"dreq"});
  rig.wan_sends(pair.drep(Side::wan));
  CHECK(rig.count(Counter::connections_closed) == 1);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 0);
  CHECK(rig.count(Counter::dreqs_released_late) == 0);
}

TEST_CASE("with nothing in custody DREQ goes at once", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.dreq(Side::host));
  CHECK(rig.at_wan() == Lines{"dreq"});
}

TEST_CASE("the held DREQ goes after dreq_hold, custody or not; a repeat then passes at once", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.dreq(Side::host)});
  rig.wait(milliseconds(2999));
  for (const std::string& line : rig.at_wan()) CHECK(line != "dreq");
  rig.wait(milliseconds(2));
  CHECK(rig.at_wan().back() == "dreq");
  CHECK(rig.count(Counter::dreqs_released_late) == 1);
  rig.wait(milliseconds(1300));
  rig.at_wan();
  rig.host_sends(pair.dreq(Side::host));
  CHECK(rig.at_wan() == Lines{"dreq"});
}

TEST_CASE("repeated DREQs while one is held are absorbed", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.dreq(Side::host), pair.dreq(Side::host)});
  rig.host_sends(pair.dreq(Side::host));
  CHECK(rig.count(Counter::absorbed_dreqs) == 2);
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "dreq"});
}

TEST_CASE("the same exchange again: its REP voids the DREQ that waits, which would end the next connection",
          "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.dreq(Side::host)});
  rig.active_sends(pair, pair.req());
  rig.passive_sends(pair, pair.rep());
  CHECK(rig.count(Counter::absorbed_dreqs) == 1);
  rig.at_wan();
  rig.wait(small_settings().dreq_hold + seconds(1));
  const Lines out = rig.at_wan();
  CHECK(std::ranges::find(out, "dreq") == out.end());
}

TEST_CASE("DREQ from the WAN passes at once; custody ends unconfirmed, the held DREQ goes", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.dreq(Side::host)});
  rig.at_wan();
  rig.at_host();
  rig.wan_sends(pair.dreq(Side::wan));
  CHECK(rig.at_host() == Lines{"dreq"});
  CHECK(rig.at_wan() == Lines{"dreq"});
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 1);
  CHECK(rig.count(Counter::unconfirmed_at_close_bytes) == pair.write(101).size());
  CHECK(rig.count(Counter::flows_failed) == 0);
}

TEST_CASE("DREP from the WAN with a DREQ held", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.dreq(Side::host)});
  rig.at_wan();
  rig.at_host();
  rig.wan_sends(pair.drep(Side::wan));
  CHECK(rig.at_host() == Lines{"drep"});
  CHECK(rig.at_wan() == Lines{"dreq"});
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 1);
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("the WAN closes while requests wait unsent: they are accounted for", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.wan_sends(pair.rnr(101, 1, 0));
  rig.host_sends({pair.write(103), pair.write(104)});
  rig.wan_sends(pair.dreq(Side::wan));
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.engine->waiting_frames() == 0);
}

TEST_CASE("after the end frames of the connection pass", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wan_sends(pair.dreq(Side::wan));
  rig.at_host();
  rig.at_wan();
  rig.host_sends({pair.write(102), pair.write(101)});
  rig.wan_sends({pair.ack(101, 2), pair.nak(102, 2)});
  CHECK(rig.at_wan() == Lines{"write_only 102!", "write_only 101!"});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "nak0 102 msn 2"});
}

TEST_CASE("DREQ or DREP with one communication ID wrong closes nothing", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  Pair forged = pair;
  forged.a_comm = 0xdead;
  rig.wan_sends({forged.dreq(Side::wan), forged.drep(Side::wan)});
  forged = pair;
  forged.b_comm = 0xdead;
  rig.wan_sends({forged.dreq(Side::wan), forged.drep(Side::wan)});
  CHECK(rig.engine->custody_packets() == 1);
  CHECK(rig.count(Counter::cm_unmatched) == 4);
}

TEST_CASE("a DREQ of the other end's name from the host's side does not end custody", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.host_sends(pair.drep(Side::wan));
  CHECK(rig.engine->custody_packets() == 1);
}

TEST_CASE("a DREQ that nobody answers: the connection is closed after a minute", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.dreq(Side::host));
  rig.wait(seconds(60) - 1);
  CHECK(rig.count(Counter::connections_closed) == 0);
  rig.wait(1);
  CHECK(rig.count(Counter::connections_closed) == 1);
  rig.wait(seconds(40));
  CHECK(rig.count(Counter::connections_closed) == 1);
  CHECK(rig.engine->next_deadline() == kNever);
}

TEST_CASE("a failed flow's DREQ goes at once", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wan_sends(pair.nak(101, 1, 2));
  rig.at_wan();
  rig.host_sends(pair.dreq(Side::host));
  CHECK(rig.at_wan() == Lines{"dreq"});
}

TEST_CASE("nothing is acknowledged after the end, though wanted in the same burst", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  // Custody ends here and is counted. Another ACK for 101 would be a lie.
  rig.host_sends({pair.write(101), pair.drep(Side::host)});
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 1);
  CHECK(rig.at_host().empty());
}

TEST_CASE("an RNR NAK in the burst that confirms a flow: what is promised behind it is kept", "[engine][teardown]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.write(100), pair.write(101), pair.write(102)});
  rig.wan_sends({pair.ack(100, 1), pair.rnr(101, 1, 10)});
  CHECK(rig.at_host() == Lines{"ack 100 msn 1", "rnr10 101 msn 1", "ack 101 msn 2", "ack 102 msn 3"});
  CHECK(rig.engine->custody_packets() == 2);
  rig.at_wan();
  rig.host_sends(pair.dreq(Side::host));
  CHECK(rig.at_wan().empty());
  rig.wait(milliseconds(1100));
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
}
