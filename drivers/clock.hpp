// SPDX-License-Identifier: BSD-3-Clause
// The only place where time is read: everything else gets it as an argument.
#pragma once

#include <cstdint>

#include <rte_cycles.h>

#include "base/time.hpp"

namespace longhaul::drivers {

/// Nanoseconds since the clock was made, from the processor's time-stamp counter. Make it after the EAL has
/// started, which measures the counter's frequency. Monotonic, the same on all cores of a machine with an invariant
/// TSC.
class Clock {
 public:
  Clock() noexcept
      // 32 fractional bits: an error of at most 1 ns in 4 s, that is 0.25 ppb, far below the crystal's own.
      : start_(rte_rdtsc()),
        nanoseconds_per_tick_(static_cast<std::uint64_t>(4294967296.0 * 1e9 / static_cast<double>(rte_get_tsc_hz()))) {}

  /// For tests: the clock shows what `hand` says.
  explicit Clock(const Time& hand) noexcept : start_(0), nanoseconds_per_tick_(0), hand_(&hand) {}

  Time now() const noexcept {
    if (hand_ != nullptr) [[unlikely]]
      return *hand_;
    const Wide ticks = rte_rdtsc() - start_;
    return static_cast<Time>((ticks * nanoseconds_per_tick_) >> 32);
  }

 private:
  // A 64-bit product would overflow after a few seconds.
  __extension__ typedef unsigned __int128 Wide;

  std::uint64_t start_;
  std::uint64_t nanoseconds_per_tick_;  ///< fixed point, 32 fractional bits
  const Time* hand_ = nullptr;
};

}  // namespace longhaul::drivers
