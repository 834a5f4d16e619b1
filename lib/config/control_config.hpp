// SPDX-License-Identifier: BSD-3-Clause
// The control socket of a running box (`longhaul ctl`).
#pragma once

#include <cstdint>
#include <string>

#include "config/document.hpp"

namespace longhaul::config {

struct ControlConfig {
  std::string socket;         ///< absolute path; empty: no socket
  std::uint32_t mode = 0660;  ///< permission bits of the socket; write permission gives full control
  std::string group;          ///< group that owns the socket; empty: the process's group
  bool telemetry = false;     ///< the same data under DPDK's telemetry, /longhaul/...
  std::string position;       ///< "FILE:LINE:COL: control", for messages about the socket itself
};

/// The name of a box for dpdk-telemetry.py -f: "longhaul_near". DPDK creates a directory of this name.
std::string telemetry_name(const std::string& box);

/// Reads `control`. Throws ConfigError.
ControlConfig read_control(const Value& value);

}  // namespace longhaul::config
