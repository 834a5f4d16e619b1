// SPDX-License-Identifier: BSD-3-Clause
// The socket on which a running box is asked and told (`longhaul ctl`).
#pragma once

#include <cstdint>
#include <string>

#include "config/document.hpp"

namespace longhaul::config {

struct ControlConfig {
  std::string socket;         ///< absolute path; empty: there is none
  std::uint32_t mode = 0660;  ///< permission bits of the socket: who may write to it may do all
  std::string group;          ///< that the socket belongs to; empty: the process's
  bool telemetry = false;     ///< the same data under DPDK's telemetry, /longhaul/...
  std::string position;       ///< "FILE:LINE:COL: control", for messages about the socket itself
};

/// The name of a box for dpdk-telemetry.py -f: "longhaul_near". A directory is called so.
std::string telemetry_name(const std::string& box);

/// Reads `control`. Throws ConfigError.
ControlConfig read_control(const Value& value);

}  // namespace longhaul::config
