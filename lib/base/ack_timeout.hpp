// SPDX-License-Identifier: BSD-3-Clause
// Timers of InfiniBand hosts, as exponents (IBTA vol. 1, 9.9.2.1.1 and 12.7.34).
#pragma once

#include "base/time.hpp"

namespace longhaul {

/// The largest exponent: five bits.
inline constexpr unsigned kMostAckTimeoutCode = 31;

/// 4.096 us x 2^code, in nanoseconds. A NIC may wait up to four times as long.
constexpr Duration ack_timeout(unsigned code) { return Duration{4096} << code; }

/// The least exponent from 1 on whose time is at least `time`; 31 if none is.
constexpr unsigned ack_timeout_code(Duration time) {
  unsigned code = 1;
  while (code < kMostAckTimeoutCode && ack_timeout(code) < time) ++code;
  return code;
}

}  // namespace longhaul
