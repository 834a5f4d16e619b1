// SPDX-License-Identifier: BSD-3-Clause
// Whether the configured ports can exist, and whether they do. A mistake is reported with its line in the
// configuration.
#pragma once

#include <string>
#include <vector>

#include "config/process_config.hpp"

namespace longhaul::app {

/// Checks that DPDK knows the virtual devices, that their arguments are complete, that a net_af_packet device has a
/// pair of queues for each of `workers`, and that the ports have different interfaces. Throws config::ConfigError.
void check_arguments(const config::PortConfig& first, const config::PortConfig& second, unsigned workers = 1);

/// Checks that the NIC or network interface is on this machine. Throws config::ConfigError.
void check_presence(const config::PortConfig& port);

/// What may keep RoCE from the ports' NICs, and what to do: one text each, with the line in the configuration. Empty
/// for NICs of another machine. `root` is put before /sys, for tests.
std::vector<std::string> roce_warnings(const config::PortConfig& first, const config::PortConfig& second,
                                       const std::string& root = "");

}  // namespace longhaul::app
