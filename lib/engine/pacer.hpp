// SPDX-License-Identifier: BSD-3-Clause
// Keeps what leaves a port at or below a rate, bursts of kBurst apart. What passes through is charged but never held:
// only packets in custody may wait, and for no more than kMostDebt of it at a time.
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

  /// What was charged before stays.
  void set_rate(std::uint64_t bits_per_second) { nanoseconds_per_byte_ = Pacer(bits_per_second).nanoseconds_per_byte_; }

  bool may_send(Time now) const { return static_cast<double>(now) + kBurst >= next_; }

  void charge(std::uint64_t bytes, Time now) {
    if (nanoseconds_per_byte_ == 0.0) return;
    const auto earliest = static_cast<double>(now);
    next_ = std::max(next_, earliest) + static_cast<double>(bytes) * nanoseconds_per_byte_;
    // What passes through may come faster than the rate for long. Custody waits while it does, but not much longer.
    next_ = std::min(next_, earliest + kMostDebt);
  }

  /// When may_send() becomes true.
  Time ready_at() const { return next_ <= kBurst ? 0 : static_cast<Time>(next_ - kBurst) + 1; }

 private:
  static constexpr double kBurst = 20'000.0;  // nanoseconds ahead of the rate
  static constexpr double kMostDebt = 1e9;    // nanoseconds that all else may be ahead of custody

  double nanoseconds_per_byte_;
  double next_ = 0.0;  // doubles hold nanoseconds of 100 days exactly
};

}  // namespace longhaul::engine
