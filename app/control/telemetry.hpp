// SPDX-License-Identifier: BSD-3-Clause
// The box's data under DPDK's telemetry: /longhaul/status, /longhaul/counters, /longhaul/flows and /longhaul/flow,ID,
// for dpdk-telemetry.py and whatever else reads it.
#pragma once

#include "app/control/box_control.hpp"
#include "app/control/commands.hpp"

namespace longhaul::app {

/// One in a process, as DPDK has one telemetry. Asked in telemetry's own thread.
class Telemetry {
 public:
  /// Both must outlive it. Needs an EAL that was started with telemetry.
  Telemetry(BoxControl& box, Commands& commands);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
};

}  // namespace longhaul::app
