// SPDX-License-Identifier: BSD-3-Clause
// NIC families: each row of the table is applied, and changes what is on the wire. And their congestion control follows
// its papers.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "pools.hpp"
#include "sim/nic_families.hpp"
#include "sim/rate_control.hpp"
#include "sim/source_port.hpp"
#include "sim/world.hpp"

using namespace longhaul;
using sim::Case;
using sim::Number;

namespace {

/// Everything that the hosts put on their lines, with its times.
std::uint64_t wire_of(const Case& c) {
  std::uint64_t hash = 1;
  const auto trace = [&hash](Duration at, const char* where, const sim::View& view) {
    if (std::string_view(where) != "A > " && std::string_view(where) != "B > ") return;
    hash = (hash ^ at ^ sim::fingerprint(view.bytes)) * 0x100000001b3;
  };
  const auto result = sim::World(c, test::sim_pools(), trace).run();
  INFO(sim::to_text(c));
  if (result.violation) FAIL(result.violation->text);
  return hash;
}

/// A world without boxes in which a habit shows, and another habit.
struct Shows {
  const char* world;
  Number other;
};

constexpr const char* kWrites = "a.mix=6 a.uniform=1 a.messages=2 a.max_bytes=400000 a.window=65536 a.burst=64";
constexpr const char* kSends = "a.mix=7 a.uniform=1 a.messages=20 a.max_bytes=64 b.receives=2 b.refill_us=3000";
constexpr const char* kLoss =
    "a.mix=6 a.uniform=1 a.messages=4 a.max_bytes=9000 a.window=65536 event=1:0:0:0:3:0:1:1:0:0";
constexpr const char* kSwap =
    "a.mix=6 a.uniform=1 a.messages=4 a.max_bytes=9000 a.window=65536 event=1:0:0:0:3:0:1:1:2:30";
constexpr const char* kMarked =
    "a.mix=6 a.uniform=1 a.messages=2 a.max_bytes=400000 a.window=65536 a.port_mbps=10000 b.cnp_us=50 wan_mbps=1000 "
    "wan_queue=4000000 wan_ecn=2000 wan_delay_us=20";
/// The tail is lost: no NAK, only the requester's timer asks.
constexpr const char* kTail = "a.mix=6 a.uniform=1 a.messages=1 a.max_bytes=3000 event=1:0:0:0:2:0:1:2:0:0";

const std::map<std::string, Shows, std::less<>>& shows() {
  static const std::map<std::string, Shows, std::less<>> all = {
      {"port_mbps", {kWrites, 7}},
      {"window", {kWrites, 8}},
      {"burst", {kWrites, 3}},
      {"pace_us", {kWrites, 7}},
      {"ack_habit", {"a.mix=6 a.uniform=1 a.messages=20 a.max_bytes=3000", 3}},
      {"ack_each", {kWrites, 0}},
      {"ack_every", {"a.mix=6 a.uniform=1 a.messages=40 a.max_bytes=64 b.ack_delay_us=50", 7}},
      {"ack_delay_us", {"a.mix=6 a.uniform=1 a.messages=41 a.max_bytes=64 b.ack_every=4", 50}},
      {"ack_timeout_us", {kTail, 20'000}},
      {"timeout_spread", {kTail, 50}},
      {"first_timeout_us", {kTail, 7'000}},
      {"rnr_timer", {kSends, 20}},
      {"nak_after_rnr", {kSends, 99}},
      {"credits", {kSends, 99}},
      {"psn", {kSends, 77}},
      {"udp_port", {kSends, 99}},
      {"selective", {kLoss, 99}},
      {"places_us", {kSwap, 99}},
      {"congestion", {kMarked, 99}},
      {"cnp_us", {kMarked, 1'000}},
  };
  return all;
}

/// The other of two values, where a row of the table above cannot name one that differs from all.
Number other_than(const sim::NicHabit& habit, Number value, Number named) {
  if (named != 99) return named;
  if (habit.knob == "places_us") return value == 0 ? 150 : 0;
  if (habit.knob == "congestion") return value == 1 ? 0 : 1;
  return value == 0 ? 1 : 0;
}

/// What a responder does shows at host B, what a requester does at host A.
bool is_responders(std::string_view knob) {
  static const std::set<std::string, std::less<>> all = {"ack_every", "ack_delay_us", "rnr_timer", "nak_after_rnr",
                                                         "credits",   "places_us",    "cnp_us"};
  return all.contains(knob);
}

}  // namespace

TEST_CASE("NIC families: each row of each table changes what is on the wire") {
  for (const sim::NicFamily& family : sim::nic_families()) {
    for (const sim::NicHabit& habit : family.habits) {
      const auto found = shows().find(habit.knob);
      INFO(family.name << ": " << habit.knob);
      REQUIRE(found != shows().end());
      CHECK(!habit.source.empty());
      const std::string knob = fmt::format("{}.{}", is_responders(habit.knob) ? "b" : "a", habit.knob);
      for (Number value : habit.values) {
        if (value == sim::kAnyPsn) value = 0x123456;
        const std::string calm = fmt::format("seed=5 close=0 box_a.present=0 box_b.present=0 {} ", found->second.world);
        const Number other = other_than(habit, value, found->second.other);
        INFO(knob << "=" << value << ", not " << other << ", in " << calm);
        CHECK(wire_of(sim::parse_case(calm + fmt::format("{}={}", knob, value))) !=
              wire_of(sim::parse_case(calm + fmt::format("{}={}", knob, other))));
      }
    }
  }
}

TEST_CASE("NIC families: a draw gives each host a family, and a value of each of its rows") {
  std::set<Number> drawn;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Case before = sim::draw_case(seed);
    const Case c = sim::with_random_nics(before);
    CHECK(sim::to_text(sim::parse_case(sim::to_text(c))) == sim::to_text(c));
    for (unsigned h = 0; h < 2; ++h) {
      const sim::HostPlan& host = h == 0 ? c.a : c.b;
      REQUIRE(host.nic >= 1);
      REQUIRE(host.nic <= sim::nic_families().size());
      drawn.insert(host.nic);
      for (const sim::NicHabit& habit : sim::nic_families()[host.nic - 1].habits) {
        // The timeout has a floor: a timer shorter than the round trip floods the path.
        if (habit.knob == "ack_timeout_us") continue;
        // And an application that is away for long has a timer of its own.
        if (habit.knob == "rnr_timer" && host.refill_us > 100'000) continue;
        const auto knob = std::ranges::find_if(sim::knobs(), [&](const sim::Knob& k) {
          return k.name == fmt::format("{}.{}", h == 0 ? "a" : "b", habit.knob);
        });
        REQUIRE(knob != sim::knobs().end());
        const Number value = knob->in(c);
        INFO(knob->name << "=" << value);
        CHECK(std::ranges::any_of(habit.values,
                                  [&](Number listed) { return listed == value || listed == sim::kAnyPsn; }));
      }
    }
  }
  CHECK(drawn.size() == sim::nic_families().size());
}

TEST_CASE("NIC families: every invariant holds in their worlds") {
  for (std::uint64_t seed = 50'001; seed <= 50'300; ++seed) {
    const Case c = sim::with_random_nics(sim::draw_case(seed));
    const auto result = sim::World(c, test::sim_pools()).run();
    INFO("see it: build/test/sim/soak --trace --case '" << sim::to_text(c) << "'");
    CHECK((result.violation ? result.violation->text : "") == "");
  }
}

TEST_CASE("NIC families: source ports as kernels choose them") {
  using sim::SourcePort;
  // rdma_get_udp_sport(0, 0x11, 0x1234) and hash_32(0x11, 14), computed with the kernel's own sources.
  CHECK(sim::source_port(SourcePort::both_qpns, 0x11, 0x1234, 1) ==
        sim::source_port(SourcePort::both_qpns, 0x1234, 0x11, 9));
  // 0x11 * 0x1234 = 0x13574: 0x13574 >> 14 = 4, and 0x3574 ^ 4 = 0x3570.
  CHECK(sim::source_port(SourcePort::both_qpns, 0x11, 0x1234, 1) == 0xf570);
  // 0x11 * 0x61c88647 = 0x6'7e50eab7; the upper 14 of its low 32 bits are 0x1f94.
  CHECK(sim::source_port(SourcePort::own_qpn, 0x11, 0x1234, 1) == 0xdf94);
  CHECK(sim::source_port(SourcePort::fixed, 0x11, 0x1234, 1) == 0xc000);
  CHECK(sim::source_port(SourcePort::random, 0x11, 0x1234, 1) != sim::source_port(SourcePort::random, 0x12, 0x1234, 1));
}

// By hand from the paper's equations (1) to (4).
TEST_CASE("DCQCN: a CNP halves the rate, recovery halves the distance five times, then the target rises") {
  sim::RateControl rate({sim::Congestion::dcqcn, 40'000});
  rate.on_cnp(microseconds(1000));
  CHECK(rate.rate_mbps() == Approx(20'000));
  Time now = microseconds(1000);
  const double recovery[] = {30'000, 35'000, 37'500, 38'750, 39'375};
  for (const double expected : recovery) {
    now += microseconds(55);
    rate.on_sent(0, now);
    CHECK(rate.rate_mbps() == Approx(expected));
  }
  // Additive increase: the target would be 40,040, but the line has no more.
  now += microseconds(55);
  rate.on_sent(0, now);
  CHECK(rate.rate_mbps() == Approx(39'687.5));
  // Two CNPs in a row: alpha is still near 1, so the rate is a quarter, with the first target's recovery begun anew.
  sim::RateControl twice({sim::Congestion::dcqcn, 40'000});
  twice.on_cnp(microseconds(10));
  twice.on_cnp(microseconds(60));
  CHECK(twice.rate_mbps() == Approx(10'000));
  // Alpha decays by 1/256 each 55 us: 55 ms later it is 1000 periods lower, and a CNP costs next to nothing.
  sim::RateControl calm({sim::Congestion::dcqcn, 40'000});
  calm.on_cnp(microseconds(10));
  calm.on_sent(0, microseconds(55'010));
  const double before = calm.rate_mbps();
  calm.on_cnp(microseconds(55'010));
  CHECK(calm.rate_mbps() == Approx(before * (1 - std::pow(255.0 / 256, 1000) / 2)).epsilon(0.001));
}

TEST_CASE("control by round trips slows down for a longer round trip, and no CNP matters to it") {
  sim::RateControl rate({sim::Congestion::round_trip, 10'000});
  rate.on_round_trip(microseconds(100), microseconds(1000));
  rate.on_cnp(microseconds(1100));
  CHECK(rate.rate_mbps() == Approx(10'000));
  rate.on_round_trip(microseconds(250), microseconds(2000));
  CHECK(rate.rate_mbps() == Approx(10'000 * (1 - 0.8 * 0.5)));
}
