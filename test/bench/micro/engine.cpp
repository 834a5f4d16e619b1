// SPDX-License-Identifier: BSD-3-Clause
// The whole engine: the cost per packet of each workload.
#include <rte_cycles.h>

#include <optional>

#include "test/bench/inline_box.hpp"
#include "test/bench/micro/micro.hpp"
#include "test/bench/trial.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kHeldByEach = 8192;

/// The next chunk that kept its core.
Round::Chunk next_chunk(Session& session) {
  Round round;
  do {
    session.measure_chunk(&round);
  } while (session.errors().empty() && (round.chunks.empty() || round.chunks.back().preempted));
  return round.chunks.empty() ? Round::Chunk{} : round.chunks.back();
}

void engine(benchmark::State& state, const Point& point) {
  const Entrant entrant{
      point, [](const Bench& b) { return std::make_unique<InlineBox>(b.ports.pair(), b.settings, b.pools); }, true};
  const drivers::Clock clock;
  std::uint64_t packets = 0;
  Trial trial({&entrant, 1}, {}, ports(), clock);
  trial.turn(0, [&](Session& session) {
    session.warm_up();
    for (auto _ : state) {
      const Round::Chunk chunk = next_chunk(session);
      if (!chunk.busy) break;
      packets += chunk.packets;
      state.SetIterationTime(static_cast<double>(*chunk.busy) / static_cast<double>(rte_get_tsc_hz()));
    }
  });
  const auto errors = trial.finish();
  for (const std::string& error : errors.front()) state.SkipWithError(error.c_str());
  per_packet(state, packets);
}

}  // namespace

void register_engine_benchmarks() {
  for (const std::uint32_t flows : {64u, 4096u})
    for (const Workload& row : workloads()) {
      const std::uint32_t custody = row.has(Side::host) && row.announced ? kHeldByEach : 0;
      benchmark::RegisterBenchmark(("engine/" + std::string(row.name) + "/" + std::to_string(flows)).c_str(), engine,
                                   Point{&row, flows, custody})
          ->UseManualTime();
    }
}

}  // namespace longhaul::bench
