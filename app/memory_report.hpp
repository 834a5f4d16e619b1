// SPDX-License-Identifier: BSD-3-Clause
// What `longhaul run --check` tells about memory.
#pragma once

#include <string>

#include "app/report.hpp"
#include "config/box_config.hpp"
#include "drivers/ethdev_port.hpp"

namespace longhaul::app {

struct MemoryReport {
  std::string text;
  Json json;
};

/// What the box will need. Where an interface is missing on this machine, the default MTU is assumed.
MemoryReport report_memory(const config::BoxConfig& config, const drivers::EthdevSpec& host,
                           const drivers::EthdevSpec& wan);

}  // namespace longhaul::app
