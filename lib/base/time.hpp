// SPDX-License-Identifier: BSD-3-Clause
// Time is an argument: nanoseconds since an epoch that the caller chose (a DPDK clock, a capture's
// timestamps, virtual time). No library reads a clock.
#pragma once

#include <cstdint>
#include <limits>

namespace longhaul {

using Time = std::uint64_t;      ///< nanoseconds since the caller's epoch
using Duration = std::uint64_t;  ///< nanoseconds

inline constexpr Time kNever = std::numeric_limits<Time>::max();

constexpr Duration microseconds(std::uint64_t n) { return n * 1000; }
constexpr Duration milliseconds(std::uint64_t n) { return n * 1000 * 1000; }
constexpr Duration seconds(std::uint64_t n) { return n * 1000 * 1000 * 1000; }

/// As reports, metrics and JSON show times.
constexpr double in_seconds(Duration duration) { return static_cast<double>(duration) / 1e9; }

}  // namespace longhaul
