// SPDX-License-Identifier: BSD-3-Clause
// The memory that a start asks the machine for. `run` demands the same figure that `--check` reports.
#pragma once

#include <cstdint>
#include <string>

#include "box/memory_plan.hpp"
#include "config/box_config.hpp"

namespace longhaul::app {

/// DPDK's memory, in bytes.
struct MemoryDemand {
  std::uint64_t planned = 0;  ///< pools, on each socket, and tables
  std::uint64_t itself = 0;   ///< for DPDK itself and the ports' rings
  std::uint64_t given = 0;    ///< `memory`, all of which is taken at the start; 0: as needed

  /// The smallest amount that is enough.
  std::uint64_t needed() const { return planned + itself; }
  /// What must be free at the start: hugepages to reserve, or ordinary memory.
  std::uint64_t at_start() const;

  std::uint64_t room = 0;  ///< on top of needed(): ordinary memory is sized beforehand, so generously
};

// In what follows, `root` is a prefix for /sys, for tests.

/// `pools` are fitted to the ports. `table_bytes` of DPDK's memory are for tables.
MemoryDemand memory_demand(const config::ProcessConfig& process, const engine::PoolPlan& pools,
                           std::uint64_t table_bytes, const std::string& root = "");

/// The number of NUMA sockets that have pools of their own.
unsigned sockets_of(const config::ProcessConfig& process, const std::string& root = "");

/// The plan of the whole box, with its workers' shares.
box::MemoryPlan plan_box(const config::BoxConfig& config, const engine::PoolPlan& pools, const std::string& root = "");

}  // namespace longhaul::app
