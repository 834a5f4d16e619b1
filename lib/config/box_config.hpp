// SPDX-License-Identifier: BSD-3-Clause
// The configuration of `longhaul run`: a box.
#pragma once

#include <string>

#include "box/memory_plan.hpp"
#include "config/control_config.hpp"
#include "config/metrics_config.hpp"
#include "config/process_config.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"

namespace longhaul::config {

/// What becomes of the other port when one loses its link.
enum class LinkLoss : std::uint8_t {
  ignore,   ///< nothing
  forward,  ///< its link goes down too, so that routers on both sides see it; and both when the box stops
};

/// What is done about a worker that stands still.
enum class OnStall : std::uint8_t {
  report,  ///< said in the log, and by metrics
  exit,    ///< said, and the process ends at once, so that a bypass of the NIC or the optics takes over
};

struct BoxConfig {
  std::string name = "box";
  PortConfig host;
  PortConfig wan;
  ProcessConfig process;
  engine::Settings engine;
  bool spread_connections = true;       ///< over all workers; false: all between two hosts stay with one
  engine::PoolPlan pools;               ///< frame_bytes is left to whoever knows the ports
  box::CustodyPromise promise;          ///< what the pools are sized for; already checked against them
  std::string promise_position;         ///< "FILE:LINE:COL: custody.least_frame", or of what else promises
  std::string restart_record;           ///< absolute path of the restart record; empty: none is kept
  std::string restart_record_position;  ///< "FILE:LINE:COL: restart_record", for messages about the file itself
  Duration drain = seconds(10);         ///< how long SIGTERM waits for custody to empty
  LinkLoss link_loss = LinkLoss::ignore;
  Duration stall = seconds(1);  ///< a worker whose loop has not come round for so long stands still
  OnStall on_stall = OnStall::report;
  MetricsConfig metrics;
  ControlConfig control;
};

/// Throws ConfigError when what is promised is promised in frames that do not arrive with this MTU (bytes). read_box()
/// has asked with the `mtu` that was configured; others are known only where the ports are.
void check_frames_arrive(const BoxConfig& config, std::uint32_t mtu);

/// Throws ConfigError.
BoxConfig read_box(const Value& top);
inline BoxConfig load_box(const std::string& path) { return read_box(Value::load(path)); }

}  // namespace longhaul::config
