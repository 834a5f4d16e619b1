// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/memory_demand.hpp"

#include <algorithm>
#include <set>

#include "box/share.hpp"
#include "drivers/system_memory.hpp"

namespace longhaul::app {

namespace {

constexpr std::uint64_t kDpdkItself = 32ull << 20;  // with rings of the usual size
constexpr std::uint64_t kDescriptorBytes = 128;     // and what the driver notes of it; the largest we know has 64
constexpr std::uint64_t kRoom = 160ull << 20;

/// In the rings of one worker, above the usual.
std::uint64_t more_descriptors(const config::ProcessConfig& process) {
  const std::uint64_t usual = config::DescriptorConfig().of_worker();
  return std::max<std::uint64_t>(process.descriptors.of_worker(), usual) - usual;
}

}  // namespace

std::uint64_t MemoryDemand::at_start() const { return std::max(needed(), given != 0 ? given : needed() + room); }

MemoryDemand memory_demand(const config::ProcessConfig& process, const engine::PoolPlan& pools,
                           std::uint64_t table_bytes, const std::string& root) {
  MemoryDemand demand;
  demand.planned = sockets_of(process, root) * engine::Pools::bytes_needed(pools) + table_bytes;
  demand.itself = kDpdkItself + process.workers() * kDescriptorBytes * more_descriptors(process);
  demand.given = process.memory_bytes;
  // With hugepages, DPDK takes memory only when it needs it.
  demand.room = process.hugepages ? 0 : kRoom;
  return demand;
}

unsigned sockets_of(const config::ProcessConfig& process, const std::string& root) {
  if (!process.hugepages || !process.core) return 1;  // ordinary memory is on no socket
  std::set<int> sockets{drivers::node_of_processor(*process.core, root)};
  for (const unsigned core : process.more_cores) sockets.insert(drivers::node_of_processor(core, root));
  return static_cast<unsigned>(sockets.size());
}

box::MemoryPlan plan_box(const config::BoxConfig& config, const engine::PoolPlan& pools, const std::string& root) {
  const unsigned workers = config.process.workers();
  return box::plan_memory(box::share_of(config.engine, workers), pools, config.promise,
                          {workers, sockets_of(config.process, root), config.engine.max_connections,
                           config.peers && config.peers->settings.repair});
}

}  // namespace longhaul::app
