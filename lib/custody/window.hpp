// SPDX-License-Identifier: BSD-3-Clause
// How many unanswered bytes a flow may have before its pseudo-ACKs wait: about twice delivery rate x RTT, so that the
// sender feels a full pipe and not a queue. Twice lets it grow: each round trip may double it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/time.hpp"

namespace longhaul::custody {

class UnansweredWindow {
 public:
  /// `delivered` bytes were answered in all by `now`; `rtt` is the path's least round trip (0: unknown).
  void on_delivered(std::uint64_t delivered, Duration rtt, Time now) {
    if (rtt == 0) return;
    if (round_start_ == 0) {
      round_start_ = now;
      round_delivered_ = delivered;
      return;
    }
    // Not less than a millisecond, or one burst of answers looks like an infinite rate.
    const Duration round = std::max<Duration>(rtt, milliseconds(1));
    if (now - round_start_ < round) return;
    const std::uint64_t bytes = delivered - round_delivered_;
    const auto per_rtt = static_cast<std::uint32_t>(std::min(
        kMost, static_cast<double>(bytes) * static_cast<double>(rtt) / static_cast<double>(now - round_start_)));
    // A round that no limit held back says nothing about what the path can carry, unless it carried more.
    if (limited_ || per_rtt >= best_) {
      recent_[next_] = per_rtt;
      next_ = (next_ + 1) % kRounds;
      best_ = *std::max_element(recent_, recent_ + kRounds);
    }
    limited_ = false;
    round_start_ = now;
    round_delivered_ = delivered;
  }

  /// A pseudo-ACK had to wait for this window: the round's rate is the path's.
  void on_limited() { limited_ = true; }

  /// A CNP came: half the window until `until` (one round trip).
  void on_congestion(Time until) { congested_until_ = until; }

  std::uint64_t bytes(std::uint64_t initial, Time now) const {
    const std::uint64_t window = std::max(initial, 2 * best_);
    return now < congested_until_ ? window / 2 : window;
  }

 private:
  static constexpr unsigned kRounds = 8;
  static constexpr double kMost = std::numeric_limits<std::uint32_t>::max();

  Time round_start_ = 0;
  std::uint64_t round_delivered_ = 0;
  std::uint64_t best_ = 0;  // of recent_
  Time congested_until_ = 0;
  unsigned next_ = 0;
  bool limited_ = false;
  std::uint32_t recent_[kRounds] = {};  // bytes delivered per least round trip
};

}  // namespace longhaul::custody
