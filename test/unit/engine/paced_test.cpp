// SPDX-License-Identifier: BSD-3-Clause
// What waits for the WAN's pace. A box may not keep a packet from the wire for longer than its requester is patient,
// and nothing of a flow overtakes what waits (design rule 8).
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// Connects and confirms the flow, and waits until the pace allows the next frame.
void connect_rested(Rig& rig, const Pair& pair) {
  rig.connect_confirmed(pair);
  rig.wait(milliseconds(100));
  rig.at_wan();
  rig.at_host();
}

/// Before any answer, three WRITEs: the first leaves, and two wait for it.
void two_wait(Rig& rig, const Pair& pair) {
  rig.connect(pair);
  rig.at_wan();
  rig.host_sends(pair.writes(100, 3, kLarge));
  CHECK(rig.at_wan() == Lines{"write_only 100!"});
}

}  // namespace

TEST_CASE("before an answer agrees a flow waits for what custody has sent", "[engine][paced]") {
  Rig rig(slow_settings());
  const Pair pair;
  two_wait(rig, pair);
  rig.wait(milliseconds(200));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!"});
  CHECK(rig.at_host().empty());
}

TEST_CASE("before an answer agrees a flow does not wait for what passes", "[engine][paced]") {
  Rig rig(slow_settings());
  const Pair pair;
  rig.connect(pair);
  rig.wait(milliseconds(200));
  rig.at_wan();
  Pair unknown;
  unknown.a_ip = "10.0.0.7";
  for (std::uint32_t psn = 0; psn < 20; ++psn) rig.host_sends({unknown.write(psn, kLarge)});
  rig.at_wan();
  rig.host_sends({pair.write(100)});
  CHECK(rig.at_wan() == Lines{"write_only 100!"});
  rig.wan_sends({pair.ack(100, 1)});
  rig.at_host();
  rig.host_sends({pair.write(101)});
  CHECK(rig.at_wan().empty());  // confirmed now: its requester can be told
}

TEST_CASE("what waits before an answer agrees leaves when custody lets go of it", "[engine][paced]") {
  Rig rig(slow_settings());
  const Pair pair;
  two_wait(rig, pair);
  SECTION("an answer disagrees: the requester has no reason to repeat it") {
    rig.wan_sends({pair.ack(100, 7)});
    CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!"});
  }
  SECTION("the requester is asked for it") {
    rig.wan_sends({pair.nak(100, 0)});
    CHECK(rig.at_wan().empty());
  }
  SECTION("the requester repeats what has left: the rest goes first, as without a box") {
    rig.host_sends(pair.writes(100, 3, kLarge));
    CHECK(rig.at_wan() ==
          Lines{"write_only 101!", "write_only 102!", "write_only 100!", "write_only 101!", "write_only 102!"});
  }
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("what custody refuses before an answer agrees leaves nothing behind", "[engine][paced]") {
  constexpr std::uint32_t kHeld = 6;
  auto settings = slow_settings();
  settings.custody_flow_bytes = kHeld * Pair{}.write(0, kLarge).size();
  Rig rig(settings);
  const Pair pair;
  Pair other = pair;
  other.a_qpn = 0x31, other.b_qpn = 0x32, other.transaction = 0x78, other.a_comm = 0xa2, other.b_comm = 0xb2;
  rig.connect(pair);
  rig.connect(other);
  rig.wait(milliseconds(200));
  rig.at_wan();
  rig.host_sends(pair.writes(100, 2, kLarge));
  CHECK(rig.at_wan() == Lines{"write_only 100!"});
  rig.host_sends(other.writes(100, kHeld, kLarge));
  CHECK(rig.at_wan().empty());
  rig.host_sends({other.write(100 + kHeld, kLarge)});
  CHECK(rig.at_wan().size() == 1 + kHeld + 1);  // all that waited, of both, and the one that is refused
}

TEST_CASE("each request that waits is counted once", "[engine][paced]") {
  Rig rig(slow_settings());
  const Pair pair;
  connect_rested(rig, pair);
  rig.host_sends({pair.write(101, kLarge)});
  CHECK(rig.count(Counter::paced) == 0);  // it went at once
  rig.host_sends(pair.writes(102, 2, kLarge));
  CHECK(rig.count(Counter::paced) == 2);
  rig.wait(milliseconds(200));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!", "write_only 103!"});
  rig.host_sends({pair.write(104)});
  CHECK(rig.count(Counter::paced) == 2);
}

TEST_CASE("a repeat of what waits takes it out, and all that came after it, once", "[engine][paced]") {
  Rig rig(slow_settings());
  const Pair pair;
  connect_rested(rig, pair);
  rig.host_sends(pair.writes(101, 4, kLarge));
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  rig.wait(milliseconds(1));
  rig.host_sends(pair.writes(102, 3, kLarge));
  CHECK(rig.at_wan() == Lines{"write_only 102!", "write_only 103!", "write_only 104!"});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3", "ack 103 msn 4", "ack 104 msn 5"});
  CHECK(rig.count(Counter::absorbed_queued_duplicates) == 3);
  rig.wait(milliseconds(200));
  CHECK(rig.at_wan().empty());
}

TEST_CASE("a READ that is repeated while it waits goes once, in its place", "[engine][paced]") {
  Rig rig(slow_settings());
  const Pair pair;
  connect_rested(rig, pair);
  rig.host_sends({pair.write(101, kLarge), pair.write(102), pair.read(103), pair.write(104)});
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  rig.wait(milliseconds(1));
  rig.host_sends({pair.read(103), pair.write(104)});
  CHECK(rig.at_wan() == Lines{"write_only 102!", "read 103!", "write_only 104!"});
  CHECK(rig.count(Counter::absorbed_queued_duplicates) == 2);
  rig.wan_sends({pair.ack(102, 3), pair.answer("read_only", 103, 4), pair.ack(104, 5)});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("a little that waits goes ahead of what custody refuses", "[engine][paced]") {
  auto settings = slow_settings();
  settings.custody_flow_bytes = 2 * Pair{}.write(0).size();
  Rig rig(settings);
  const Pair pair;
  connect_rested(rig, pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!", "write_only 103!"});
  CHECK(rig.count(Counter::dropped_behind_backlog) == 0);
}

TEST_CASE("much that waits keeps its pace: what custody refuses is asked for again behind it", "[engine][paced]") {
  constexpr std::uint32_t kHeld = 20;  // 19 of them wait: more than 64 KiB
  auto settings = slow_settings();
  settings.custody_flow_bytes = kHeld * Pair{}.write(0, kLarge).size();
  Rig rig(settings);
  const Pair pair;
  connect_rested(rig, pair);
  rig.host_sends(pair.writes(101, kHeld + 2, kLarge));
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  CHECK(rig.count(Counter::dropped_behind_backlog) == 1);
  CHECK(rig.count(Counter::dropped_beyond_gap) == 1);
  rig.at_host();
  rig.wait(milliseconds(40) * kHeld);
  CHECK(rig.at_wan().size() == kHeld - 1);
  CHECK(rig.count(Counter::pseudo_naks) == 1);
  CHECK(rig.at_host().back() == "nak0 121 msn 21");
}
