// SPDX-License-Identifier: BSD-3-Clause
// Keeps what leaves a port at or below a rate, bursts of kBurst apart. What passes through is charged but never held:
// only packets in custody may wait.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flow/time.hpp"

namespace longhaul::engine {

class Pacer {
 public:
  /// `bits_per_second` 0 means no limit.
  explicit Pacer(std::uint64_t bits_per_second)
      : nanoseconds_per_byte_(bits_per_second == 0 ? 0.0 : 8e9 / static_cast<double>(bits_per_second)) {}

  bool may_send(Time now) const { return static_cast<double>(now) + kBurst >= next_; }

  void charge(std::uint64_t bytes, Time now) {
    if (nanoseconds_per_byte_ == 0.0) return;
    next_ = std::max(next_, static_cast<double>(now)) + static_cast<double>(bytes) * nanoseconds_per_byte_;
  }

  /// When may_send() becomes true.
  Time ready_at() const { return next_ <= kBurst ? 0 : static_cast<Time>(next_ - kBurst) + 1; }

 private:
  static constexpr double kBurst = 20'000.0;  // nanoseconds ahead of the rate

  double nanoseconds_per_byte_;
  double next_ = 0.0;  // doubles hold nanoseconds of 100 days exactly
};

}  // namespace longhaul::engine
