// SPDX-License-Identifier: BSD-3-Clause
// Shared by the benchmarks in this directory.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <vector>

#include "engine/pools.hpp"
#include "test/bench/engine_load/bed.hpp"
#include "wire/frame.hpp"

namespace longhaul::bench {

/// A box's pools, while main() runs.
const engine::Pools& pools();

/// One for each workload.
void register_engine_benchmarks();

/// Packets a NIC hands over at once.
inline constexpr std::size_t kBurst = Turns::kBurst;

/// Times what is between begin() and end() as the iteration, and nothing else: making frames costs more than what is
/// measured. For benchmarks with UseManualTime(). It is this thread's processor time: what the machine gives to others
/// meanwhile does not count.
class Stopwatch {
 public:
  explicit Stopwatch(benchmark::State& state) : state_(state) {}
  void begin() { began_ = now(); }
  void end() { state_.SetIterationTime(now() - began_); }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  benchmark::State& state_;
  double began_ = 0;
};

/// For iterations of `packets` each: Google Benchmark's own column is an iteration's time.
inline void per_packet(benchmark::State& state, std::uint32_t packets) {
  const auto all = state.iterations() * packets;
  state.SetItemsProcessed(all);
  state.counters["per_packet"] =
      benchmark::Counter(static_cast<double>(all), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace longhaul::bench
