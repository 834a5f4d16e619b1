// SPDX-License-Identifier: BSD-3-Clause
// Whether the configured ports can exist, and whether they do: a mistake there is the configuration's, with its line.
#pragma once

#include "config/process_config.hpp"

namespace longhaul::app {

/// The arguments of a net_af_packet device are complete, and it has a pair of queues for each of `workers`. Throws
/// config::ConfigError.
void check_arguments(const config::PortConfig& port, unsigned workers = 1);

/// The NIC or network interface is on this machine. Throws config::ConfigError.
void check_presence(const config::PortConfig& port);

}  // namespace longhaul::app
