// SPDX-License-Identifier: BSD-3-Clause
// How long a silent connection is remembered. Code that spreads connections over engines must not forget one before its
// engine does.
#pragma once

#include "base/time.hpp"

namespace longhaul::flow {

/// When a table is full, a connection that is silent for this long, with nothing in custody, may go.
inline constexpr Duration kIdle = seconds(600);
/// Connections examined in search of an idle one.
inline constexpr unsigned kIdleSearch = 64;
/// How long an unanswered DREQ is remembered: CM's own retries end long before.
inline constexpr Duration kCloseWait = seconds(60);

}  // namespace longhaul::flow
