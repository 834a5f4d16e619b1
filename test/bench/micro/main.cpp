// SPDX-License-Identifier: BSD-3-Clause
// The parts of the hot path, timed one by one (Google Benchmark), and the whole engine as a reference.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <exception>
#include <optional>

#include "drivers/eal.hpp"
#include "test/bench/micro/micro.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint64_t kBesidesPools = 1ull << 30;  // the pools of the engine's benchmarks, tables, DPDK itself

/// DPDK in ordinary memory, the pools of a box with its defaults, and ports.
class Memory {
 public:
  Memory() : eal_(options()), pools_(engine::Pools::create({})), ports_(1024, 4096) {}
  ~Memory() { pools_.destroy(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const engine::Pools& pools() const { return pools_; }
  RingPorts& ports() { return ports_; }

 private:
  static drivers::EalOptions options() {
    drivers::EalOptions options;
    options.program = "micro";
    options.hugepages = false;
    options.memory_bytes = engine::Pools::bytes_needed({}) + kBesidesPools;
    return options;
  }

  drivers::Eal eal_;
  engine::Pools pools_;
  RingPorts ports_;
};

std::optional<Memory> memory;

}  // namespace

const engine::Pools& pools() { return memory->pools(); }
RingPorts& ports() { return memory->ports(); }

}  // namespace longhaul::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    longhaul::bench::memory.emplace();
    longhaul::bench::register_engine_benchmarks();
    benchmark::RunSpecifiedBenchmarks();
    longhaul::bench::memory.reset();
  } catch (const std::exception& e) {
    fmt::print(stderr, "micro: {}\n", e.what());
    return 1;
  }
  return 0;
}
