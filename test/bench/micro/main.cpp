// SPDX-License-Identifier: BSD-3-Clause
// What the hot path is made of, timed part by part (Google Benchmark), and the whole engine as a reference.
#include "test/bench/micro/micro.hpp"

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <exception>
#include <optional>

namespace longhaul::bench {

namespace {
std::optional<Memory> memory;
}

const engine::Pools& pools() { return memory->pools(); }

}  // namespace longhaul::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    longhaul::bench::memory.emplace("micro");
    longhaul::bench::register_engine_benchmarks();
    benchmark::RunSpecifiedBenchmarks();
    longhaul::bench::memory.reset();
  } catch (const std::exception& e) {
    fmt::print(stderr, "micro: {}\n", e.what());
    return 1;
  }
  return 0;
}
