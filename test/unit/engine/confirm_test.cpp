// SPDX-License-Identifier: BSD-3-Clause
// Design section 4: no pseudo-ACK until one real answer has agreed.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

TEST_CASE("nothing is acknowledged before one real answer has passed", "[engine][confirm]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.write(100), pair.write(101)});
  rig.wait(seconds(2));
  CHECK(rig.at_host().empty());
  CHECK(rig.at_wan() == Lines{"write_only 100!", "write_only 101!"});
}

TEST_CASE("the first agreeing answer is forwarded, then come the pseudo-ACKs of all that waited", "[engine][confirm]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.write(100), pair.write(101), pair.silent_write(102), pair.write(103)});
  rig.wan_sends(pair.ack(100, 1));
  CHECK(rig.at_host() == Lines{"ack 100 msn 1", "ack 101 msn 2", "ack 103 msn 4"});
  CHECK(rig.count(Counter::flows_confirmed) == 1);
}

TEST_CASE("an answer whose MSN disagrees lets custody go, and the MSN is learned anew", "[engine][confirm]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.write(100), pair.write(101)});
  rig.wan_sends(pair.ack(100, 6));
  CHECK(rig.at_host() == Lines{"ack 100 msn 6"});
  CHECK(rig.count(Counter::confirm_disagreed) == 1);
  rig.wan_sends(pair.ack(101, 2));  // agrees with the count by chance
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  CHECK(rig.count(Counter::flows_confirmed) == 0);

  rig.host_sends({pair.write(102), pair.write(103)});
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(102, 8));
  CHECK(rig.at_host() == Lines{"ack 102 msn 8", "ack 103 msn 9"});
  CHECK(rig.count(Counter::flows_rejoined) == 1);
}

TEST_CASE("an answer for a PSN that was never sent does not confirm", "[engine][confirm]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.wan_sends({pair.ack(101, 2), pair.ack(7, 3)});
  rig.host_sends(pair.write(101));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 7 msn 3"});
  CHECK(rig.count(Counter::answers_not_sent) == 1);
}

TEST_CASE("a damaged answer does not confirm", "[engine][confirm]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.write(100), pair.write(101)});
  rig.wan_sends(damaged(pair.ack(100, 1)));
  CHECK(rig.at_host() == Lines{"ack 100 msn 1 bad-icrc"});
  CHECK(rig.engine->custody_packets() == 2);
}

TEST_CASE("a READ's response confirms as an ACK does", "[engine][confirm]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.read(100), pair.write(101)});
  rig.wan_sends(pair.answer("read_only", 100, 1));
  CHECK(rig.at_host() == Lines{"read_only 100", "ack 101 msn 2"});
}

TEST_CASE("confirm: cm acknowledges at once", "[engine][confirm]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  CHECK(rig.at_host() == Lines{"ack 100 msn 1"});
}

TEST_CASE("before confirmation a gap and a repeat are the hosts' affair", "[engine][confirm]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.write(100), pair.write(102)});
  rig.host_sends(pair.write(100));
  CHECK(rig.at_wan() == Lines{"write_only 100!", "write_only 102!", "write_only 100!"});
  rig.wan_sends({pair.ack(100, 1), pair.nak(101, 1)});
  CHECK(rig.at_host() == Lines{"ack 100 msn 1", "nak0 101 msn 1"});
  rig.host_sends({pair.write(101), pair.write(102)});
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!"});
  CHECK(rig.at_host().empty());
  rig.host_sends(pair.write(103));
  rig.wan_sends(pair.ack(102, 3));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3", "ack 103 msn 4"});
}
