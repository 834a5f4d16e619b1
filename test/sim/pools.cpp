// SPDX-License-Identifier: BSD-3-Clause
#include "pools.hpp"

#include "drivers/eal.hpp"

namespace longhaul::test {

namespace {

engine::Pools make(const char* name, std::uint32_t frames, std::uint32_t small_frames) {
  drivers::EalOptions options;
  options.program = "sim";
  options.hugepages = false;
  options.memory_bytes = 1024ull << 20;
  // It lives as long as the process, because pools must not outlive it.
  static const drivers::Eal eal(options);
  engine::PoolPlan plan;
  plan.name = name;
  plan.frame_bytes = 4400;
  plan.frames = frames;
  plan.small_frames = small_frames;
  return engine::Pools::create(plan);
}

}  // namespace

const engine::Pools& sim_pools() {
  static const engine::Pools made = make("sim", 81920, 16384);
  return made;
}

const engine::Pools& tight_pools() {
  static const engine::Pools made = make("tight", 16384, 512);
  return made;
}

}  // namespace longhaul::test
