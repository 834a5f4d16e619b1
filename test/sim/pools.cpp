// SPDX-License-Identifier: BSD-3-Clause
#include "pools.hpp"

#include "drivers/eal.hpp"

namespace longhaul::test {

const engine::Pools& sim_pools() {
  static const engine::Pools made = [] {
    drivers::EalOptions options;
    options.program = "sim";
    options.hugepages = false;
    options.memory_bytes = 1024ull << 20;
    // It lives as long as the process, because pools must not outlive it.
    static const drivers::Eal eal(options);
    engine::PoolPlan plan;
    plan.name = "sim";
    plan.frame_bytes = 4400;
    plan.frames = 81920;
    plan.small_frames = 16384;
    return engine::Pools::create(plan);
  }();
  return made;
}

}  // namespace longhaul::test
