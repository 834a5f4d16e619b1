// SPDX-License-Identifier: BSD-3-Clause
// Unix sockets by path.
#pragma once

#include <string>

#include "config/control_config.hpp"

namespace longhaul::app {

/// Listens at `config.socket` (and makes the directory it is in, one level). Throws config::ConfigError.
int listen_at(const config::ControlConfig& config);

/// Throws std::runtime_error that says why nobody answers there.
int connect_to(const std::string& path);

}  // namespace longhaul::app
