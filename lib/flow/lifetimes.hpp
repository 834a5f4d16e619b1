// SPDX-License-Identifier: BSD-3-Clause
// How long a silent connection is remembered. Code that spreads connections over engines must not forget one before its
// engine does.
#pragma once

#include <algorithm>

#include "base/time.hpp"
#include "flow/connection.hpp"

namespace longhaul::flow {

/// When a table is full, a connection that is silent for this long, with nothing in custody, may go.
inline constexpr Duration kIdle = seconds(600);
/// Connections examined in search of an idle one.
inline constexpr unsigned kIdleSearch = 64;
/// No host creates a queue pair anew within this time of its former life: what comes so soon is of the same life.
inline constexpr Duration kSoonestReuse = milliseconds(5);
/// How long an unanswered DREQ is remembered: CM's own retries end long before.
inline constexpr Duration kCloseWait = seconds(60);

/// How long custody of a connection may stay unanswered. A requester that announces more patience by RDMA-CM has that,
/// up to a limit: its REQ may announce 17 hours (timeout 31, 7 retries), and may be forged.
struct Patience {
  Duration least = seconds(60);
  Duration most = seconds(600);

  Duration give_up(const ConnectionInfo& info) const {
    return std::max(least, std::min(most, info.retry_count * info.ack_timeout));
  }
};

}  // namespace longhaul::flow
