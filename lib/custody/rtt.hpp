// SPDX-License-Identifier: BSD-3-Clause
// Round trip and resend timer (RFC 6298, nanoseconds). Callers observe Karn's rule.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flow/time.hpp"

namespace longhaul::custody {

class RttEstimator {
 public:
  void sample(Duration rtt, Time now) {
    if (srtt_ == 0) {
      srtt_ = rtt;
      variation_ = rtt / 2;
    } else {
      const Duration error = rtt > srtt_ ? rtt - srtt_ : srtt_ - rtt;
      variation_ = variation_ - variation_ / 4 + error / 4;
      srtt_ = srtt_ - srtt_ / 8 + rtt / 8;
    }
    // The least of the last one to two windows: queues inflate the mean, the path itself may get longer.
    if (now - window_start_ > kWindow) {
      window_start_ = now;
      previous_minimum_ = minimum_;
      minimum_ = rtt;
    }
    minimum_ = minimum_ == 0 ? rtt : std::min(minimum_, rtt);
  }

  bool known() const { return srtt_ != 0; }
  Duration smoothed() const { return srtt_; }
  /// The path's own delay, without queues; 0 when unknown.
  Duration minimum() const { return previous_minimum_ == 0 ? minimum_ : std::min(minimum_, previous_minimum_); }

  /// Resend timeout before backing off. On a steady path the variation goes to nothing, and any hiccup of a host would
  /// look like a loss: a quarter of the round trip is the least margin.
  Duration timeout(Duration initial, Duration least, Duration most) const {
    if (!known()) return initial;
    return std::clamp(srtt_ + std::max(4 * variation_, srtt_ / 4), least, std::max(least, most));
  }

 private:
  static constexpr Duration kWindow = seconds(10);

  Duration srtt_ = 0;
  Duration variation_ = 0;
  Duration minimum_ = 0;
  Duration previous_minimum_ = 0;
  Time window_start_ = 0;
};

}  // namespace longhaul::custody
