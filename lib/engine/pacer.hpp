// SPDX-License-Identifier: BSD-3-Clause
// Keeps what leaves a port at or below a rate, bursts of kBurst apart. What passes through is charged but never held:
// only packets in custody may wait. What passes may come faster than the rate for long, so custody has a share of the
// rate that nothing else uses up. It may send while either of two buckets is not empty: that of the whole rate, which
// all is charged to, and that of its share, which it alone is charged to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "flow/time.hpp"

namespace longhaul::engine {

class Pacer {
 public:
  /// `bits_per_second` 0 means no limit.
  explicit Pacer(std::uint64_t bits_per_second) { set_rate(bits_per_second); }

  /// What was charged before stays.
  void set_rate(std::uint64_t bits_per_second) {
    per_ns_ = static_cast<double>(bits_per_second) / 8e9 * kByte;
    most_ = static_cast<std::int64_t>(kBurst * per_ns_);
    all_ = bits_per_second == 0 ? kUnlimited : std::min(all_, most_);
  }

  /// It is `now`: gives what the rate allows since the last call. Once per burst, before it is charged.
  void advance(Time now) {
    if (per_ns_ == 0.0)
      all_ = kUnlimited;
    else
      refill(now);
  }

  bool may_send() const { return all_ >= 0 || share_ >= 0; }

  /// What passes through.
  void charge(std::uint64_t bytes) { all_ -= static_cast<std::int64_t>(bytes) * kByte; }
  /// What was in custody.
  void charge_held(std::uint64_t bytes) {
    charge(bytes);
    share_ -= static_cast<std::int64_t>(bytes) * kByte;
  }

  /// When may_send() becomes true, by the last advance(); not after it when it is.
  Time ready_at() const {
    if (may_send()) return now_;
    return now_ + static_cast<Time>(std::min(static_cast<double>(-all_), static_cast<double>(-share_) / kShare) / per_ns_) + 1;
  }

 private:
  [[gnu::noinline]] void refill(Time now) {
    // More would only fill what is full.
    const double more = std::min(static_cast<double>(now - now_), (kMostDebt + kBurst) / kShare) * per_ns_;
    const auto debt = static_cast<std::int64_t>(-kMostDebt * per_ns_);
    now_ = now;
    all_ = std::min(std::max(all_, debt) + static_cast<std::int64_t>(more), most_);
    share_ = std::min(std::max(share_, debt) + static_cast<std::int64_t>(more * kShare), most_);
  }

  static constexpr double kBurst = 20'000.0;  // nanoseconds ahead of the rate
  static constexpr double kMostDebt = 1e8;    // nanoseconds that are made up for, about what a router queues
  static constexpr double kShare = 0.5;
  static constexpr std::int64_t kByte = 1 << 20;  // integers, as cheap as they are, and slow rates with short calls
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 2;

  double per_ns_ = 0.0;  // rate
  // What may go now, in bytes / kByte; below 0: so much went too early.
  std::int64_t most_ = 0;
  std::int64_t all_ = kUnlimited;
  std::int64_t share_ = 0;
  Time now_ = 0;
};

}  // namespace longhaul::engine
