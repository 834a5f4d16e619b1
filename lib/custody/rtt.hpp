// SPDX-License-Identifier: BSD-3-Clause
// Round trip and resend timer (RFC 6298, nanoseconds). Callers observe Karn's rule.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"
#include "custody/recent_least.hpp"

namespace longhaul::custody {

class RttEstimator {
 public:
  [[gnu::always_inline]] void sample(Duration rtt, Time now) {
    if (srtt_ == 0) [[unlikely]]
      return begin(rtt, now);
    const Duration error = rtt > srtt_ ? rtt - srtt_ : srtt_ - rtt;
    variation_ = variation_ - variation_ / 4 + error / 4;
    srtt_ = srtt_ - srtt_ / 8 + rtt / 8;
    least_.add(rtt, now);
  }

  bool known() const { return srtt_ != 0; }
  Duration smoothed() const { return srtt_; }
  /// The path's own delay, without queues; 0 when unknown.
  Duration minimum() const { return least_.get(); }

  /// Resend timeout before backing off. On a steady path the variation goes to zero, and any hiccup of a host would
  /// look like a loss. So the margin is at least a quarter of the round trip.
  [[gnu::always_inline]] Duration timeout(Duration initial, Duration least, Duration most) const {
    if (!known()) return initial;
    return std::clamp(srtt_ + std::max(4 * variation_, srtt_ / 4), least, std::max(least, most));
  }

 private:
  [[gnu::noinline]] void begin(Duration rtt, Time now) {
    srtt_ = rtt;
    variation_ = rtt / 2;
    least_.begin(rtt, now);
  }

  Duration srtt_ = 0;
  Duration variation_ = 0;
  RecentLeast least_;
};

}  // namespace longhaul::custody
