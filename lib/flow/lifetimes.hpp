// SPDX-License-Identifier: BSD-3-Clause
// How long a connection that says nothing is remembered. What spreads connections over engines must not forget one
// before its engine does.
#pragma once

#include "base/time.hpp"

namespace longhaul::flow {

/// When a table is full, a connection silent for so long, and with nothing in custody, may go.
inline constexpr Duration kIdle = seconds(600);
/// Connections looked at in search of such a one.
inline constexpr unsigned kIdleSearch = 64;
/// A DREQ nobody answered: CM's own retries have ended long before.
inline constexpr Duration kCloseWait = seconds(60);

}  // namespace longhaul::flow
