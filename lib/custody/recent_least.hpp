// SPDX-License-Identifier: BSD-3-Clause
// The least of the durations that were measured in the last one to two windows of ten seconds. What inflates a
// duration, a queue or a loss, passes; but a path may also get longer.
#pragma once

#include <algorithm>

#include "base/time.hpp"

namespace longhaul::custody {

class RecentLeast {
 public:
  /// 0: nothing was measured yet.
  Duration get() const { return least_; }

  /// The first measurement.
  void begin(Duration measured, Time now) {
    window_start_ = now;
    window_least_ = least_ = measured;
  }
  /// Each later one.
  [[gnu::always_inline]] void add(Duration measured, Time now) {
    if (measured < window_least_ || now - window_start_ > kWindow) [[unlikely]]
      note(measured, now);
  }

 private:
  static constexpr Duration kWindow = seconds(10);

  [[gnu::noinline]] void note(Duration measured, Time now) {
    if (now - window_start_ > kWindow) {
      window_start_ = now;
      least_ = window_least_;
      window_least_ = measured;
    }
    window_least_ = std::min(window_least_, measured);
    least_ = std::min(least_, measured);
  }

  Duration least_ = 0;
  Duration window_least_ = 0;
  Time window_start_ = 0;
};

}  // namespace longhaul::custody
