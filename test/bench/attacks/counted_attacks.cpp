// SPDX-License-Identifier: BSD-3-Clause
// Sends the frames of each attack to an engine that holds little, and to one that holds much. `test/bench/attacks/run`
// counts their instructions under callgrind. Alone, the program only checks that each attack does what it means to.
#include <fmt/core.h>
#include <valgrind/callgrind.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "drivers/eal.hpp"
#include "test/bench/attacks/own_frames.hpp"
#include "test/bench/attacks/stage.hpp"
#include "test/bench/attacks/table.hpp"

namespace {

using namespace longhaul;
using namespace longhaul::bench;

constexpr std::uint32_t kHeld[] = {100, 100'000};
constexpr Duration kPreparation = milliseconds(500);
constexpr std::uint64_t kMemory = 2ull << 30;

void count(const Attack& attack, std::uint32_t held, std::uint32_t frames, const engine::Pools& pools) {
  Stage stage(pools, held, attacked_peers());
  // Little takes as long to come as much: timers stand in the same way.
  stage.set_step(kPreparation / held);
  attack.prepare(stage, held);
  stage.set_step(microseconds(1));
  std::vector<AttackFrame> sent;
  for (std::uint32_t i = 0; i < frames; ++i) sent.push_back(attack.frame(i, held));
  stage.begin_to_count();
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  for (const AttackFrame& frame : sent) stage.send(frame.from, frame.bytes);
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
  if (const std::string_view missed = attack.missed(stage.counters(), held, frames); !missed.empty())
    throw std::runtime_error(fmt::format("{} with {} held: {}", attack.name, held, missed));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Sends attacks to an engine, for callgrind to count. Use test/bench/attacks/run."};
  std::uint32_t frames = 96;
  std::string only;
  bool list = false;
  app.add_option("--packets", frames, "of each attack")->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--only", only, "the attack of this name");
  app.add_flag("--list", list, "the attacks, and why they might hurt");
  CLI11_PARSE(app, argc, argv);
  if (list) {
    for (const auto& some : {attacks(), attacks_on_own_address()})
      for (const Attack& attack : some) fmt::print("{:20} {}\n", attack.name, attack.why);
    return 0;
  }
  try {
    drivers::EalOptions options;
    options.program = "attacks";
    options.hugepages = false;
    options.memory_bytes = kMemory;
    const drivers::Eal eal(options);
    engine::PoolPlan plan;
    plan.name = "attacks";
    plan.frame_bytes = 2048;
    plan.frames = 32768;
    plan.small_frames = 131072;
    const engine::Pools pools = engine::Pools::create(plan);
    for (const auto& some : {attacks(), attacks_on_own_address()})
      for (const Attack& attack : some) {
        if (!only.empty() && attack.name != only) continue;
        for (const std::uint32_t held : kHeld) {
          count(attack, held, frames, pools);
          fmt::print("{}/{} {}\n", attack.name, held, frames);
        }
      }
  } catch (const std::exception& e) {
    fmt::print(stderr, "counted_attacks: {}\n", e.what());
    return 1;
  }
  return 0;
}
