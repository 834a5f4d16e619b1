// SPDX-License-Identifier: BSD-3-Clause
// The log of a process with ports, in the format that its configuration asks for.
#pragma once

#include <string>

#include "config/process_config.hpp"

namespace longhaul::app {

/// Follows `log.format`: with json, all that this process and DPDK log from now on is JSON. `name` is that of the box
/// or link. Call it before DPDK starts.
void choose_log(const config::ProcessConfig& config, const std::string& name);

}  // namespace longhaul::app
