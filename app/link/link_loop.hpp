// SPDX-License-Identifier: BSD-3-Clause
// The loop of an emulated link: two ports and a direction each way.
#pragma once

#include <functional>

#include "app/process/stop_signals.hpp"
#include "drivers/clock.hpp"
#include "drivers/port.hpp"
#include "link/direction.hpp"

namespace longhaul::app {

struct LinkLoopOptions {
  bool sleep_when_idle = false;
  std::function<void()> on_report;  ///< called in the loop when Requests::report was set
};

/// Runs until `requests` says stop. Frames under way then stay with the directions. Returns the nanoseconds from start
/// to stop.
Duration run_link(link::Direction& a_to_b, link::Direction& b_to_a, drivers::Port& a, drivers::Port& b,
                  const drivers::Clock& clock, const LinkLoopOptions& options, Requests& requests);

}  // namespace longhaul::app
