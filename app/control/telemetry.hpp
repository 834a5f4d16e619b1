// SPDX-License-Identifier: BSD-3-Clause
// The box's data in DPDK's telemetry: /longhaul/status, /longhaul/counters, /longhaul/flows and /longhaul/flow,ID, for
// dpdk-telemetry.py and other clients.
#pragma once

#include "app/control/box_control.hpp"
#include "app/control/commands.hpp"

namespace longhaul::app {

/// One per process, because DPDK has one telemetry. Its thread calls this.
class Telemetry {
 public:
  /// Both arguments must outlive it. Needs an EAL that was started with telemetry.
  Telemetry(BoxControl& box, Commands& commands);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
};

}  // namespace longhaul::app
