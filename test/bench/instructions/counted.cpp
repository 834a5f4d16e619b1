// SPDX-License-Identifier: BSD-3-Clause
// Sends a fixed number of packets of each workload through an engine. test/bench/instructions/run counts their
// instructions under callgrind. Alone, the program only checks what comes out.
#include <fmt/core.h>
#include <valgrind/callgrind.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "drivers/eal.hpp"
#include "test/bench/inline_box.hpp"
#include "test/bench/trial.hpp"

namespace {

using namespace longhaul;
using namespace longhaul::bench;

constexpr const char* kWorkloads[] = {"write64",   "write512", "write1024", "write4096",  "acks",
                                      "responses", "far512",   "foreign64", "unknown512", "unknownacks"};
constexpr std::uint32_t kFlows[] = {64, 1024, 4096};
// Enough candidates to show whether an ACK that fits no connection costs more when there are more of them. Anyone can
// make candidates, up to max_candidates.
constexpr std::uint32_t kMostCandidates = 1024;
constexpr std::uint32_t kInCustody = 8192;
constexpr std::uint64_t kMemory = 1ull << 30;

/// Returns how many packets were counted.
std::uint64_t count(const Point& point, std::uint64_t packets, RingPorts& ports, const drivers::Clock& clock) {
  const Entrant engine{
      point, [](const Bench& b) { return std::make_unique<InlineBox>(b.ports.pair(), b.settings, b.pools); }, true};
  Trial trial({&engine, 1}, {}, ports, clock);
  std::uint64_t passed = 0;
  trial.turn(0, [&](Session& session) {
    session.warm_up();
    // What comes before runs many times faster without instrumentation.
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    for (Round round; passed < packets && session.errors().empty(); passed += round.chunks.back().packets)
      session.measure_chunk(&round);
    CALLGRIND_DUMP_STATS;
    CALLGRIND_STOP_INSTRUMENTATION;
  });
  const auto errors = trial.finish();
  for (const std::string& error : errors.front()) throw std::runtime_error(error);
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Sends packets of each workload through an engine, for callgrind to count. Use test/bench/instructions/run."};
  std::uint64_t packets = 4096;
  std::string only;
  app.add_option("--packets", packets, "of each workload, at least")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--only", only, "the workload of this name");
  CLI11_PARSE(app, argc, argv);
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__)
  fmt::print(stderr, "counted: compiled without optimization or with sanitizers, its count would mean nothing\n");
  return 2;
#endif
  try {
    drivers::EalOptions options;
    options.program = "counted";
    options.hugepages = false;
    options.memory_bytes = kMemory;
    const drivers::Eal eal(options);
    const drivers::Clock clock;
    RingPorts ports(1024, 4096);
    for (const std::uint32_t flows : kFlows)
      for (const char* name : kWorkloads) {
        const std::string full = fmt::format("{}/{}", name, flows);
        if (!only.empty() && full != only) continue;
        if (flows == kMostCandidates && std::string_view(name) != "unknownacks") continue;
        const Workload& row = workload(name);
        const bool holds = row.has(Side::host) && row.announced;
        fmt::print("{} {}\n", full, count({&row, flows, holds ? kInCustody : 0}, packets, ports, clock));
      }
  } catch (const std::exception& e) {
    fmt::print(stderr, "counted: {}\n", e.what());
    return 1;
  }
  return 0;
}
