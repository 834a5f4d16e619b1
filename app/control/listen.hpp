// SPDX-License-Identifier: BSD-3-Clause
// Where a box listens for `longhaul ctl`.
#pragma once

#include <string>

#include "config/control_config.hpp"

namespace longhaul::app {

/// Listens at `config.socket`. Makes its directory if needed, one level. Throws config::ConfigError.
int listen_at(const config::ControlConfig& config);

}  // namespace longhaul::app
