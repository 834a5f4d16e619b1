// SPDX-License-Identifier: BSD-3-Clause
// The configuration of `longhaul run`: a box.
#pragma once

#include <string>

#include "config/process_config.hpp"
#include "engine/memory_plan.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"

namespace longhaul::config {

struct BoxConfig {
  std::string name = "box";
  PortConfig host;
  PortConfig wan;
  ProcessConfig process;
  engine::Settings engine;
  bool spread_connections = true;       ///< over all workers; false: all between two hosts stay with one
  engine::PoolPlan pools;               ///< frame_bytes is left to whoever knows the ports
  engine::CustodyPromise promise;       ///< what the pools are sized for; already checked against them
  std::string promise_position;         ///< "FILE:LINE:COL: custody.least_frame", or of what else promises
  std::string restart_record;           ///< absolute path of the restart record; empty: none is kept
  std::string restart_record_position;  ///< "FILE:LINE:COL: restart_record", for messages about the file itself
  Duration drain = seconds(10);         ///< how long SIGTERM waits for custody to empty
};

/// Throws ConfigError when what is promised is promised in frames that do not arrive with this MTU (bytes). read_box()
/// has asked with the `mtu` that was configured; others are known only where the ports are.
void check_frames_arrive(const BoxConfig& config, std::uint32_t mtu);

/// Throws ConfigError.
BoxConfig read_box(const Value& top);
inline BoxConfig load_box(const std::string& path) { return read_box(Value::load(path)); }

}  // namespace longhaul::config
