// SPDX-License-Identifier: BSD-3-Clause
// The configuration of `longhaul link`: the emulated long haul.
#pragma once

#include <string>

#include "config/process_config.hpp"
#include "link/settings.hpp"

namespace longhaul::config {

struct LinkConfig {
  std::string name = "link";
  PortConfig a;
  PortConfig b;
  ProcessConfig process;
  std::uint32_t frames = 32768;  ///< buffers, for the frames in both directions and the ports' rings
  link::Settings link;
};

/// Throws ConfigError.
LinkConfig read_link(const Value& top);
inline LinkConfig load_link(const std::string& path) { return read_link(Value::load(path)); }

}  // namespace longhaul::config
