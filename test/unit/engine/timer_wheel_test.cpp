// SPDX-License-Identifier: BSD-3-Clause
#include "engine/timer_wheel.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <utility>
#include <vector>

using namespace longhaul;
using engine::TimerWheel;

namespace {

/// A wheel, and what it should do.
struct Both {
  explicit Both(std::uint32_t capacity) : wheel(capacity, capacity), deadlines(capacity, kNever) {}

  void set(std::uint32_t id, Time deadline) {
    wheel.set(id, deadline);
    remove(id);
    deadlines[id] = deadline;
    if (deadline != kNever) order.insert({deadline, id});
    REQUIRE(wheel.deadline(id) == deadline);
    check();
  }
  /// Takes all timers that are due, and checks each.
  std::size_t take_all(Time due) {
    for (std::size_t taken = 0;; ++taken) {
      const auto id = wheel.take(due);
      const bool any = !order.empty() && order.begin()->first <= due;
      REQUIRE(id.has_value() == any);
      if (!any) {
        // After this look, the wheel knows its earliest timer again.
        if (!order.empty() && wheel.earliest() <= due) FAIL("the bound stays behind");
        return taken;
      }
      REQUIRE(*id == order.begin()->second);
      REQUIRE(wheel.deadline(*id) == kNever);
      remove(*id);
      check();
    }
  }
  void check() const {
    if (order.empty()) {
      REQUIRE(wheel.earliest() == kNever);
    } else {
      REQUIRE(wheel.earliest() <= order.begin()->first);
    }
  }
  void remove(std::uint32_t id) {
    if (deadlines[id] != kNever) order.erase({deadlines[id], id});
    deadlines[id] = kNever;
  }

  TimerWheel wheel;
  std::vector<Time> deadlines;
  std::set<std::pair<Time, std::uint32_t>> order;
};

}  // namespace

TEST_CASE("a wheel hands out by deadline, then by number", "[timers]") {
  TimerWheel wheel(4);
  CHECK(wheel.earliest() == kNever);
  CHECK_FALSE(wheel.take(kNever - 1));
  wheel.set(2, seconds(5));
  wheel.set(0, seconds(5));
  wheel.set(1, seconds(60));
  wheel.set(3, seconds(5) + 1);
  CHECK(wheel.earliest() == seconds(5));
  CHECK_FALSE(wheel.take(seconds(5) - 1));
  CHECK(wheel.take(seconds(5)) == 0u);
  CHECK(wheel.take(seconds(5)) == 2u);
  CHECK_FALSE(wheel.take(seconds(5)));
  CHECK(wheel.earliest() == seconds(5) + 1);
  CHECK(wheel.take(seconds(5) + 1) == 3u);
  CHECK(wheel.earliest() == seconds(60));
  wheel.set(1, kNever);
  CHECK(wheel.earliest() == kNever);
}

TEST_CASE("of many in one slot a portion is spread at a time: none early, none lost, none much later", "[timers]") {
  constexpr std::uint32_t kTimers = 5000;
  constexpr std::uint32_t kPortion = 8;
  TimerWheel wheel(kTimers, kPortion);
  std::mt19937 random(1);
  std::vector<Time> deadlines(kTimers);
  // All timers lie beyond 2^30 ns, in one slot of the third wheel and in some behind it.
  for (std::uint32_t id = 0; id < kTimers; ++id)
    wheel.set(id, deadlines[id] = milliseconds(1100) + microseconds(random() % 1'500'000));
  std::uint32_t left = kTimers;
  std::uint64_t calls_late = 0;
  bool again = true;
  for (Time now = 0; left > 0; now += microseconds(50)) {
    REQUIRE(now < seconds(4));
    while (wheel.earliest() <= now) {
      const auto id = wheel.take(now);
      if (!id) {
        ++calls_late;  // a box would try again in its next round
        continue;
      }
      REQUIRE(deadlines[*id] <= now);
      deadlines[*id] = kNever;
      --left;
      if (left == kTimers / 2 && std::exchange(again, false)) {
        // Halfway, one timer is set again among those that are left.
        wheel.set(*id, deadlines[*id] = now + milliseconds(1));
        ++left;
      }
    }
  }
  CHECK(std::ranges::count(deadlines, kNever) == kTimers);
  CHECK(wheel.earliest() == kNever);
  CHECK(calls_late <= 2 * kTimers / kPortion + 64);
}

TEST_CASE("deadlines are exact from nanoseconds to centuries", "[timers]") {
  TimerWheel wheel(64);
  for (std::uint32_t bit = 1; bit < 64; ++bit) {
    const Time deadline = (Time{1} << bit) - (bit == 63 ? 0 : 1);
    wheel.set(bit, deadline);
  }
  wheel.set(0, kNever - 1);
  for (std::uint32_t bit = 1; bit < 63; ++bit) {
    const Time deadline = (Time{1} << bit) - 1;
    CHECK(wheel.earliest() == deadline);
    CHECK_FALSE(wheel.take(deadline - 1));
    CHECK(wheel.take(deadline) == bit);
  }
  CHECK(wheel.take(Time{1} << 63) == 63u);
  CHECK(wheel.take(kNever - 1) == 0u);
}

TEST_CASE("a wheel does what an ordered set does, whatever is set, moved and taken back, and however time jumps",
          "[timers]") {
  constexpr std::uint32_t kTimers = 200;
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t below) { return random() % below; };
    Both both(kTimers);
    Time now = seed == 1 ? 0 : draw(Time{1} << 50);
    std::size_t taken = 0;
    for (int step = 0; step < 60000; ++step) {
      const auto id = static_cast<std::uint32_t>(draw(kTimers));
      switch (draw(8)) {
        case 0:
          both.set(id, kNever);
          break;
        case 1:  // the same time for several, or a time in the past
          both.set(id, now - std::min(now, draw(3) * 10000));
          break;
        case 2:  // any scale
          both.set(id, now + (Time{1} << draw(48)) + draw(1000));
          break;
        case 3:
          both.set(id, now + milliseconds(10) + draw(100) * 1000);
          break;
        case 4:
          if (!both.order.empty()) both.set(both.order.begin()->second, kNever);  // the first itself
          break;
        case 5:  // a time in the past, as when answers wait
          taken += both.take_all(now - std::min(now, draw(1000000)));
          break;
        case 6:
          now += draw(40000);
          taken += both.take_all(now);
          break;
        default:
          // Rarely far. Sometimes exactly to the next deadline, or just before it.
          if (draw(20) == 0)
            now += Time{1} << draw(50);
          else if (!both.order.empty() && both.order.begin()->first > now)
            now = both.order.begin()->first - draw(2);
          taken += both.take_all(now);
      }
    }
    CHECK(taken > 10000);
  }
}

TEST_CASE("thousands that are due at once, each set again while the others wait", "[timers]") {
  constexpr std::uint32_t kTimers = 5000;
  Both both(kTimers);
  for (std::uint32_t i = 0; i < kTimers; ++i) both.set(i, seconds(1) + i % 7);
  const Time now = seconds(1) + 20000;
  for (std::uint32_t i = 0; i < kTimers; ++i) {
    const auto id = both.wheel.take(now);
    REQUIRE(id);
    REQUIRE(*id == both.order.begin()->second);
    both.remove(*id);
    both.set(*id, i % 3 == 0 ? now : now + microseconds(20));
    both.set(*id, now + microseconds(20));
  }
  CHECK(both.take_all(now) == 0);
  CHECK(both.take_all(now + microseconds(20)) == kTimers);
}
