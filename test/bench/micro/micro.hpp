// SPDX-License-Identifier: BSD-3-Clause
// Shared by the benchmarks in this directory.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "engine/pools.hpp"
#include "test/bench/ring_ports.hpp"
#include "wire/frame.hpp"

namespace longhaul::bench {

/// A box's pools and a device's ports. They live while main() runs.
const engine::Pools& pools();
RingPorts& ports();

/// Registers a benchmark for each workload.
void register_engine_benchmarks();

/// The packets that a NIC hands over at once.
inline constexpr std::size_t kBurst = 32;

/// Times only what is between begin() and end() as the iteration, because making frames costs more than what is
/// measured. For benchmarks with UseManualTime(). It measures this thread's processor time, so time that the machine
/// gives to others does not count.
class Stopwatch {
 public:
  explicit Stopwatch(benchmark::State& state) : state_(state) {}
  void begin() { began_ = now(); }
  void end() { state_.SetIterationTime(now() - began_); }
  /// For an iteration in pieces: begin() and lap() around each piece, record() at the end.
  void lap() { sum_ += now() - began_; }
  void record() {
    state_.SetIterationTime(sum_);
    sum_ = 0;
  }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  benchmark::State& state_;
  double began_ = 0;
  double sum_ = 0;
};

/// The numbers 0 to count-1, shuffled. std::shuffle may differ between standard libraries, and the figures must not.
inline std::vector<std::uint32_t> shuffled(std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

/// For iterations of many packets, `packets` in total: Google Benchmark's own column is the time of an iteration.
inline void per_packet(benchmark::State& state, std::uint64_t packets) {
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
  state.counters["per_packet"] =
      benchmark::Counter(static_cast<double>(packets), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace longhaul::bench
