// SPDX-License-Identifier: BSD-3-Clause
// The whole engine, per packet of each workload.
#include "test/bench/engine_load/engine_load.hpp"
#include "test/bench/micro/micro.hpp"

namespace longhaul::bench {

namespace {

// More than the second-level cache holds, as when they come from a NIC.
constexpr std::uint32_t kPackets = 1024;

void engine(benchmark::State& state, const EngineLoadSpec& spec) {
  const auto workload = EngineLoad::make(spec, pools());
  Stopwatch watch(state);
  for (auto _ : state) {
    workload->prepare(kPackets);
    watch.begin();
    workload->run();
    watch.end();
    workload->check();
  }
  per_packet(state, kPackets);
}

}  // namespace

void register_engine_benchmarks() {
  for (const EngineLoadSpec& spec : engine_loads())
    benchmark::RegisterBenchmark(("engine/" + spec.name()).c_str(), engine, spec)->UseManualTime();
}

}  // namespace longhaul::bench
