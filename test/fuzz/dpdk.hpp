// SPDX-License-Identifier: BSD-3-Clause
// DPDK, as the targets with a whole engine need it.
#pragma once

#include <rte_mempool.h>

#include "drivers/eal.hpp"
#include "engine/pools.hpp"

namespace longhaul::fuzz {

/// Starts the EAL, once per process. Call it before any pool is made.
inline void start_eal() {
  static const drivers::Eal eal([] {
    drivers::EalOptions options;
    options.program = "fuzz";
    options.hugepages = false;
    options.memory_bytes = 128ull << 20;
    return options;
  }());
}

/// Buffers of all kinds.
inline unsigned buffers_in_use(const engine::Pools& pools) {
  unsigned used = rte_mempool_in_use_count(pools.frames) + rte_mempool_in_use_count(pools.made);
  for (const rte_mempool* pool : pools.small) used += rte_mempool_in_use_count(pool);
  return used;
}

}  // namespace longhaul::fuzz
