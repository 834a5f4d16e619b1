// SPDX-License-Identifier: BSD-3-Clause
// Timers of hosts that a long haul outlasts.
#pragma once

#include "base/time.hpp"
#include "plan/table.hpp"

namespace longhaul::plan {

/// Adds a warning for each usual timer that runs out before an answer can be back: to `warnings` in the facts, and to
/// the notes. None for a round trip that all of them survive.
void warn_of_timers(Duration round_trip, Report& report);

}  // namespace longhaul::plan
