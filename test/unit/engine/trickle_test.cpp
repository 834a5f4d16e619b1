// SPDX-License-Identifier: BSD-3-Clause
// Design section 5.5: in an outage the box goes on acknowledging from custody, slowly.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// A confirmed connection with an ACK timeout of 67 ms. It sends ten WRITEs, of which four are acknowledged, and then
/// the WAN is silent.
struct Outage : Rig {
  explicit Outage(const engine::Settings& settings = four_unanswered()) : Rig(settings) {
    connect(pair);
    host_sends(pair.write(100));
    wait(milliseconds(10));
    wan_sends(pair.ack(100, 1));
    host_sends(pair.writes(101, 10));
    at_host();
  }
  /// The ACKs that the box makes within `duration`.
  std::size_t acks(Duration duration) {
    const std::uint64_t before = count(Counter::pseudo_acks);
    for (const Time end = now + duration; now < end;) wait(milliseconds(1));
    return count(Counter::pseudo_acks) - before;
  }

  Pair pair;
};

}  // namespace

TEST_CASE("in an outage requests are acknowledged at the pace of the requester's timer", "[engine][trickle]") {
  Outage rig;
  CHECK(rig.acks(milliseconds(20)) == 0);  // a timeout or two
  const std::size_t first = rig.acks(milliseconds(100));
  CHECK(first >= 1);
  CHECK(first <= 2);
  CHECK(rig.acks(milliseconds(670)) >= 4);
  CHECK(rig.acks(seconds(2)) == 0);  // all ten are
  // What comes now waits behind the packet that asks whether the WAN is back: it has not left, and is not promised.
  rig.host_sends(rig.pair.writes(111, 3));
  CHECK(rig.acks(seconds(1)) == 0);
}

TEST_CASE("in an outage a repeat of what waits asks at once whether the WAN is back", "[engine][trickle]") {
  Outage rig;
  rig.acks(seconds(5));
  rig.host_sends(rig.pair.writes(111, 3));
  rig.at_wan();
  // Timeouts have doubled to seconds. The requester's few repeats would go through as soon as the WAN is back.
  const Lines asked{"write_only 101!"};
  const auto repeated_after = [&](Duration pause) {
    rig.wait(pause);
    rig.at_wan();
    rig.host_sends(rig.pair.writes(111, 3));
    return rig.at_wan();
  };
  CHECK(repeated_after(milliseconds(50)) == asked);
  CHECK(repeated_after(milliseconds(1)).empty());  // once in a timeout
  CHECK(repeated_after(milliseconds(50)) == asked);
  // It is. What was lost, and what waited, follows.
  rig.wait(milliseconds(10));
  rig.wan_sends(rig.pair.ack(101, 2));
  CHECK(rig.at_wan().size() >= 9);
}

TEST_CASE("an answer ends the trickle", "[engine][trickle]") {
  Outage rig;
  REQUIRE(rig.acks(milliseconds(150)) >= 1);
  rig.wan_sends(rig.pair.ack(101, 2));
  rig.at_host();
  CHECK(rig.acks(milliseconds(5)) == 0);
  rig.wan_sends(rig.pair.ack(110, 11));
  rig.host_sends(rig.pair.writes(111, 10));
  const std::size_t window = rig.acks(milliseconds(5));
  CHECK(window == 0);  // they were acknowledged in the burst, as far as the window allows
  CHECK(rig.acks(milliseconds(10)) == 0);
}

TEST_CASE("a trickle takes nothing past a READ, nothing without credits, nothing in doubt", "[engine][trickle]") {
  Rig rig(four_unanswered());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wait(milliseconds(10));
  SECTION("a READ") { rig.host_sends({pair.write(101), pair.read(102), pair.write(103), pair.write(104)}); }
  SECTION("a doubt") {
    rig.host_sends(pair.writes(101, 8));
    rig.host_sends(pair.write(100));  // answered long ago
  }
  SECTION("a drain") {
    rig.host_sends(pair.writes(101, 8));
    rig.engine->set_draining(true);
  }
  const std::uint64_t before = rig.count(Counter::pseudo_acks);
  for (int i = 0; i < 1000; ++i) rig.wait(milliseconds(1));
  CHECK(rig.count(Counter::pseudo_acks) == before);
}

TEST_CASE("a requester whose ACK timeout is not known is acknowledged for each 50 ms", "[engine][trickle]") {
  CHECK(custody::Trickle::interval_of(0) == milliseconds(50));
  CHECK(custody::Trickle::interval_of(milliseconds(67)) == milliseconds(67));
  CHECK(custody::Trickle::interval_of(seconds(4)) == milliseconds(500));
  CHECK(custody::Trickle::interval_of(microseconds(16)) == milliseconds(5));
}
