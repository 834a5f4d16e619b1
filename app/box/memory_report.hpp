// SPDX-License-Identifier: BSD-3-Clause
// What `longhaul run --check` says about memory.
#pragma once

#include <string>

#include "app/command/json_file.hpp"
#include "app/process/memory_demand.hpp"
#include "config/box_config.hpp"
#include "drivers/ethdev_port.hpp"

namespace longhaul::app {

struct MemoryReport {
  std::string text;
  Json json;
};

/// What `config` means for these ports. If an interface is missing on this machine, the default MTU is assumed. `root`
/// is a prefix for /sys, for tests.
struct BoxMemory {
  BoxMemory(const config::BoxConfig& config, const drivers::EthdevSpec& host, const drivers::EthdevSpec& wan,
            const std::string& root = "");

  engine::PoolPlan pools;
  std::uint32_t mtu;
  box::MemoryPlan plan;
  MemoryDemand demand;
};

/// What the box will need. If an interface is missing on this machine, the default MTU is assumed.
MemoryReport report_memory(const config::BoxConfig& config, const drivers::EthdevSpec& host,
                           const drivers::EthdevSpec& wan);

}  // namespace longhaul::app
