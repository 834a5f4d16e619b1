// SPDX-License-Identifier: BSD-3-Clause
// Networks with adaptive routing deliver some packets late, behind others. Each world is compared with the same world
// whose network keeps the order. Every invariant holds in both.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "pools.hpp"
#include "sim/world.hpp"

using namespace longhaul;

namespace {

/// Host A writes 16,000 packets over 10 Gbit/s and 2 ms, and keeps enough under way that a packet which is 100 us late
/// holds nothing up.
constexpr const char* kLateWrites =
    "close=0 by_packet=1 wan_delay_us=1000 wan_mbps=10000 wan_queue=100000000 a.messages=4000 a.max_bytes=4096 "
    "a.uniform=1 a.mix=6 a.depth=256 a.window=65536 a.port_mbps=10000 a.ack_timeout_us=67000 box_a.mbufs=8192 "
    "box_a.wan_mbps=10000 ";

/// Host A reads as much, sixteen READs at a time.
constexpr const char* kReads =
    "close=0 by_packet=1 wan_delay_us=1000 wan_mbps=10000 wan_queue=100000000 a.messages=2000 a.max_bytes=8192 "
    "a.uniform=1 a.mix=8 a.initiator_depth=16 a.depth=256 a.window=65536 a.port_mbps=10000 b.port_mbps=10000 "
    "a.ack_timeout_us=67000 box_a.mbufs=8192 box_a.wan_mbps=10000 ";

struct Outcome {
  Duration took = 0;  ///< from the first packet until the responder has accepted all
  std::uint64_t resent = 0;
  std::uint64_t packets = 0;
  std::uint64_t refused = 0;     ///< beyond a gap
  std::uint64_t sent_again = 0;  ///< from custody
};

Outcome outcome_of(const std::string& text) {
  sim::World world(sim::parse_case(text), test::sim_pools());
  const sim::Result result = world.run();
  INFO(text);
  if (result.violation) FAIL(result.violation->text);
  REQUIRE(result.deliveries.size() == 1);
  REQUIRE(result.deliveries[0].accepted);
  return {result.deliveries[0].took, world.requester(0).resent(), world.requester(0).sent_top(),
          world.count(0, Counter::dropped_beyond_gap), world.count(0, Counter::resends)};
}

}  // namespace

TEST_CASE("reordered between host and box: the requester sends nothing again, and is as fast as in order") {
  const Outcome in_order = outcome_of(kLateWrites);
  CHECK(in_order.resent == 0);
  for (const unsigned late_us : {10, 100})
    for (const unsigned of_ten_thousand : {10, 100, 1000}) {
      // ACKs out of order do no harm to a requester.
      const Outcome reordered =
          outcome_of(fmt::format("{} ab0.reorder={} ab0.reorder_us={} ba0.reorder={} ba0.reorder_us={}", kLateWrites,
                                 of_ten_thousand, late_us, of_ten_thousand, late_us));
      INFO(of_ten_thousand << " of 10,000 are " << late_us << " us late");
      CHECK(reordered.resent * 1000 <= reordered.packets);
      CHECK(static_cast<double>(reordered.took) <= 1.05 * static_cast<double>(in_order.took));
      CHECK(reordered.refused == 0);
    }
}

TEST_CASE("without a time to wait the same worlds are full of needless resends") {
  const Outcome reordered =
      outcome_of(fmt::format("{} ab0.reorder=100 ab0.reorder_us=10 box_a.reorder_wait_us=0", kLateWrites));
  CHECK(reordered.resent * 10 > reordered.packets);
}

TEST_CASE("reordered for longer than the box waits: what comes late is asked for, and all arrives") {
  const Outcome late = outcome_of(fmt::format("{} ab0.reorder=10 ab0.reorder_us=1000", kLateWrites));
  CHECK(late.resent > 0);
}

TEST_CASE("READ responses reordered on the long haul: the requester asks for nothing again") {
  const Outcome in_order = outcome_of(kReads);
  CHECK(in_order.resent == 0);
  for (const unsigned late_us : {10, 100})
    for (const unsigned of_ten_thousand : {10, 100, 1000}) {
      const Outcome reordered =
          outcome_of(fmt::format("{} ba1.reorder={} ba1.reorder_us={}", kReads, of_ten_thousand, late_us));
      INFO(of_ten_thousand << " of 10,000 are " << late_us << " us late");
      CHECK(reordered.resent == 0);
      CHECK(static_cast<double>(reordered.took) <= 1.05 * static_cast<double>(in_order.took));
    }
  const Outcome at_once =
      outcome_of(fmt::format("{} ba1.reorder=100 ba1.reorder_us=10 box_a.reorder_wait_us=0", kReads));
  CHECK(at_once.resent > 0);
}

TEST_CASE("requests reordered on the long haul, and their responder places them out of order: nothing goes again") {
  const Outcome in_order = outcome_of(kLateWrites);
  for (const unsigned late_us : {10, 100})
    for (const unsigned of_ten_thousand : {10, 100, 1000}) {
      const Outcome reordered = outcome_of(
          fmt::format("{} b.places_us=500 ab1.reorder={} ab1.reorder_us={}", kLateWrites, of_ten_thousand, late_us));
      INFO(of_ten_thousand << " of 10,000 are " << late_us << " us late");
      CHECK(reordered.resent == 0);
      CHECK(reordered.sent_again == 0);
      CHECK(static_cast<double>(reordered.took) <= 1.05 * static_cast<double>(in_order.took));
    }
}

// Luck decides how many packets come between two that are late, so several worlds are added up.
TEST_CASE("requests reordered on the long haul, and their responder goes back: no slower than without boxes",
          "[figures]") {
  constexpr Duration kRoundTrip = milliseconds(2);
  constexpr unsigned kWorlds = 4;
  struct Late {
    unsigned of_ten_thousand, us, messages;
  };
  for (const Late late :
       {Late{10, 10, 1000}, Late{10, 100, 1000}, Late{100, 10, 1000}, Late{100, 100, 1000}, Late{1000, 100, 200}}) {
    Duration with = 0, without = 0;
    for (unsigned seed = 1; seed <= kWorlds; ++seed) {
      const std::string text = fmt::format("{} a.messages={} seed={} ab1.reorder={} ab1.reorder_us={}", kLateWrites,
                                           late.messages, seed, late.of_ten_thousand, late.us);
      with += outcome_of(text).took;
      without += outcome_of(text + " box_a.present=0 box_b.present=0").took;
    }
    INFO(late.of_ten_thousand << " of 10,000 are " << late.us << " us late");
    CHECK(static_cast<double>(with) <= 1.05 * static_cast<double>(without) + kWorlds * kRoundTrip);
  }
}

TEST_CASE("a READ response later than the box waits: a requester that places it goes on, and so does the box") {
  // READs and WRITEs. The second response of the first READ is 2 ms late.
  sim::Case c = sim::parse_case(
      "close=0 wan_delay_us=1000 a.messages=200 a.max_bytes=4096 a.uniform=1 a.mix=3 a.initiator_depth=4 a.depth=64 "
      "a.places_us=5000 a.ack_timeout_us=500000 ba1.reorder=200 ba1.reorder_us=2000");
  sim::World world(c, test::sim_pools());
  const sim::Result result = world.run();
  if (result.violation) FAIL(result.violation->text);
  CHECK(world.requester(0).succeeded() == 200);
  CHECK(world.requester(0).resent() == 0);
  CHECK(world.count(0, Counter::reads_passed) > 0);
  CHECK(world.count(0, Counter::flows_unanswered) == 0);
  CHECK(result.lasted < seconds(10));
}
