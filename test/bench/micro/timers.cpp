// SPDX-License-Identifier: BSD-3-Clause
// Timers of many flows: one is set, or the first one is due and is set again.
#include "base/time.hpp"
#include "engine/timer_wheel.hpp"
#include "test/bench/micro/micro.hpp"

namespace longhaul::bench {

namespace {

constexpr Duration kStep = microseconds(1);

/// All timers set, each a little later than the one before, within the possible spread of a round trip.
engine::TimerWheel all_set(std::uint32_t count, Time now) {
  engine::TimerWheel timers(count);
  for (const std::uint32_t id : shuffled(count)) timers.set(id, now + milliseconds(10) + id * kStep);
  return timers;
}

/// Sets any timer to a deadline after all others, and looks for a timer that is due. None is.
void set_timer(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  Time now = seconds(1000);
  auto timers = all_set(count, now);
  const auto order = shuffled(count);
  std::size_t i = 0;
  for (auto _ : state) {
    timers.set(order[i], (now += kStep) + milliseconds(10) + count * kStep);
    benchmark::DoNotOptimize(timers.take(now));
    if (++i == order.size()) i = 0;
  }
  state.SetItemsProcessed(state.iterations());
}

/// The first timer is due, and is set after all others.
void expire_timer(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  Time now = seconds(1000);
  auto timers = all_set(count, now);
  for (auto _ : state) {
    now = timers.earliest();
    const auto id = timers.take(now);
    if (id) timers.set(*id, now + milliseconds(10) + count * kStep);
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(set_timer)->ArgName("flows")->Arg(64)->Arg(65536);
BENCHMARK(expire_timer)->ArgName("flows")->Arg(64)->Arg(65536);

}  // namespace

}  // namespace longhaul::bench
