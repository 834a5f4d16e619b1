// SPDX-License-Identifier: BSD-3-Clause
// What a worker does if no frames come: it polls on, or sleeps a little.
#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace longhaul::app {

/// If two hosts, a link and two boxes share two cores, busy polling costs the others milliseconds. Sleeping 50 us after
/// 20 empty rounds costs 50 us.
class Idle {
 public:
  static constexpr std::uint32_t kEmptyRounds = 20;
  static constexpr Duration kSleep = microseconds(50);

  /// With `sleep`, also asks the kernel to wake this thread on time (timer slack of 1 ns instead of 50 us).
  explicit Idle(bool sleep);

  /// Call at the end of each round. `busy`: frames came or went. Sleeps if it is time to, but not past `deadline`.
  /// Returns true if it slept.
  bool round(bool busy, Time now, Time deadline) {
    if (busy) {
      empty_ = 0;
    } else if (sleep_ && ++empty_ >= kEmptyRounds) {
      nap(now, deadline);
      return true;
    }
    return false;
  }

 private:
  static void nap(Time now, Time deadline);

  bool sleep_;
  std::uint32_t empty_ = 0;
};

}  // namespace longhaul::app
