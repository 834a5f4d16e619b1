// SPDX-License-Identifier: BSD-3-Clause
// Sends a fixed number of packets of each workload through an engine. test/bench/instructions/run counts the
// instructions of that under callgrind; alone, the program only checks what comes out.
#include <fmt/core.h>
#include <valgrind/callgrind.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>

#include "test/bench/engine_load/engine_load.hpp"

namespace {

using namespace longhaul;

void count(const bench::EngineLoadSpec& spec, const engine::Pools& pools, std::uint32_t packets) {
  const auto workload = bench::EngineLoad::make(spec, pools);
  workload->prepare(packets);
  // All that precedes runs many times faster without.
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  workload->run();
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
  workload->check();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Sends packets of each workload through an engine, for callgrind to count. Use test/bench/instructions/run."};
  std::uint32_t packets = 4096;
  std::string only;
  app.add_option("--packets", packets, "of each workload, a multiple of " + std::to_string(bench::EngineLoad::kStep))
      ->check(CLI::Range(bench::EngineLoad::kStep, 8192u))
      ->capture_default_str();
  app.add_option("--only", only, "the workload of this name");
  CLI11_PARSE(app, argc, argv);
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__)
  fmt::print(stderr, "counted: compiled without optimization or with sanitizers, its count would mean nothing\n");
  return 2;
#endif
  if (packets % bench::EngineLoad::kStep != 0) {
    fmt::print(stderr, "counted: --packets {}: must be a multiple of {}\n", packets, bench::EngineLoad::kStep);
    return 2;
  }
  try {
    const bench::Memory memory("counted");
    for (const bench::EngineLoadSpec& spec : bench::engine_loads()) {
      if (!only.empty() && spec.name() != only) continue;
      count(spec, memory.pools(), packets);
      fmt::print("{} {}\n", spec.name(), packets);
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "counted: {}\n", e.what());
    return 1;
  }
  return 0;
}
