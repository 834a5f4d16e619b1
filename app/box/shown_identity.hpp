// SPDX-License-Identifier: BSD-3-Clause
// What a box shows of its program, its configuration and its ports.
#pragma once

#include <string>

#include "config/box_config.hpp"
#include "drivers/ethdev_port.hpp"
#include "expose/snapshot.hpp"

namespace longhaul::app {

/// `version` is longhaul's. The time of the call counts as the start.
expose::Identity identity_of(const config::BoxConfig& config, const std::string& version);

/// Any thread.
expose::PortState state_of(const drivers::EthdevPort& port);

}  // namespace longhaul::app
