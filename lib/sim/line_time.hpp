// SPDX-License-Identifier: BSD-3-Clause
// The time that bits take on a line. A small frame takes a few nanoseconds, so the rounding remainder is carried over.
#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace longhaul::sim {

class LineTime {
 public:
  explicit LineTime(std::uint64_t mbps) : mbps_(mbps) {}

  /// The line has a rate: without one nothing takes time.
  bool limited() const { return mbps_ != 0; }
  /// The time for the next `bits`; only for a line that is limited().
  Duration next(std::uint64_t bits) {
    const std::uint64_t time = bits * 1000 + rest_;
    rest_ = time % mbps_;
    return time / mbps_;
  }
  /// The line was idle: nothing is carried over.
  void begin() { rest_ = 0; }

 private:
  std::uint64_t mbps_;
  std::uint64_t rest_ = 0;  ///< remainder of the division, in 1 / mbps nanoseconds
};

}  // namespace longhaul::sim
