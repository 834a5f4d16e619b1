// SPDX-License-Identifier: BSD-3-Clause
// Time without pauses, and timers that wait for frames in the rings.
#include <catch2/catch.hpp>

#include "engine/loop_time.hpp"
#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::engine;
using namespace longhaul::test;

namespace {

constexpr Duration kBusy = milliseconds(10);  // a machine that does something else
constexpr Duration kStopped = seconds(500);

}  // namespace

TEST_CASE("a pause is left out of the time and counted; being slow is neither", "[engine][loop_time]") {
  Rig rig;
  Time clock = rig.now;
  LoopTime time(*rig.engine, clock);
  CHECK(time.at(clock) == clock);
  for (const Duration slow : {kBusy, LoopTime::kPause - 1}) {
    clock += slow;
    CHECK(time.at(clock) == clock);
  }
  CHECK(time.pauses() == 0);
  CHECK(rig.count(Counter::pauses) == 0);
  const Time before = time.at(clock);
  CHECK(time.at(clock += kStopped) == before);
  CHECK(time.at(clock += kBusy) == before + kBusy);
  CHECK(time.clock_at(before + kBusy) == clock);
  CHECK(time.clock_at(kNever) == kNever);
  CHECK(time.at(clock += LoopTime::kPause) == before + kBusy);
  CHECK(time.pauses() == 2);
  CHECK(time.paused() == kStopped + LoopTime::kPause);
  CHECK(rig.count(Counter::pauses) == 2);
  CHECK(rig.count(Counter::paused_ns) == kStopped + LoopTime::kPause);
}

TEST_CASE("a loop that had nothing to do did not stand still", "[engine][loop_time]") {
  Rig rig;
  Time clock = rig.now;
  LoopTime time(*rig.engine, clock);
  clock += kStopped;
  CHECK(time.went_round(clock) == clock);
  CHECK(time.pauses() == 0);
}

TEST_CASE("time does not go back with the clock, and goes on with it", "[engine][loop_time]") {
  Rig rig;
  Time clock = rig.now;
  LoopTime time(*rig.engine, clock);
  const Time before = time.at(clock);
  CHECK(time.at(clock -= seconds(600)) == before);
  CHECK(time.at(clock += kBusy) == before + kBusy);
  CHECK(time.pauses() == 0);
}

TEST_CASE("a pause longer than give_up: the flow neither fails nor asks before its time", "[engine][loop_time]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  Time clock = rig.now;
  LoopTime time(*rig.engine, clock);
  rig.host_sends(pair.write(101));
  rig.at_wan();
  rig.at_host();
  time.poll(clock += kStopped, false);
  CHECK(rig.count(Counter::flows_failed) == 0);
  CHECK(rig.at_wan().empty());
  // The flow's timers are where they were.
  for (int i = 0; i < 35; ++i) time.poll(clock += milliseconds(1), false);
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
}

TEST_CASE("what was sent before a pause gives no sample of the round trip, what is sent after it does",
          "[engine][loop_time]") {
  const Duration gap = GENERATE(kBusy, kStopped);
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  LoopTime time(*rig.engine, rig.now);
  rig.host_sends(pair.write(101));
  const std::uint64_t samples = rig.engine->wan_rtt().count();
  rig.now = time.at(rig.now + gap);
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.engine->wan_rtt().count() == samples + (gap == kBusy ? 1 : 0));
  rig.now += microseconds(1);
  rig.host_sends(pair.write(102));
  rig.now += kBusy;
  rig.wan_sends(pair.ack(102, 3));
  CHECK(rig.engine->wan_rtt().count() == samples + (gap == kBusy ? 2 : 1));
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("timers wait for a round that leaves nothing in the rings, but not for ever", "[engine][loop_time]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  Time clock = rig.now;
  LoopTime time(*rig.engine, clock);
  rig.host_sends(pair.write(101));
  rig.at_wan();
  const auto rounds = [&](Duration duration, bool more) {
    for (const Time until = clock + duration; clock < until;) time.poll(clock += microseconds(100), more);
    return rig.at_wan().size();
  };
  SECTION("the first such round is enough") {
    CHECK(rounds(milliseconds(60), true) == 0);
    CHECK(rounds(microseconds(100), false) == 1);
  }
  SECTION("a flood") {
    CHECK(rounds(Engine::kTimerPatience, true) == 0);
    CHECK(rounds(Engine::kTimerPatience, true) > 0);
  }
  SECTION("a round that began before the deadline and ends after it: its rings were read too early") {
    CHECK(rounds(milliseconds(25), false) == 0);
    time.poll(clock += milliseconds(20), false);
    CHECK(rig.at_wan().empty());
    time.poll(clock += microseconds(1), false);
    CHECK(rig.at_wan().size() == 1);
  }
}
