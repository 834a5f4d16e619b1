// SPDX-License-Identifier: BSD-3-Clause
// Keeps what leaves a port at or below a rate, but for short bursts. What passes through is charged but never held:
// only packets in custody may wait. What passes may come faster than the rate for long, so custody has a share of the
// rate that nothing else uses up. There are two buckets: that of the whole rate, which all is charged to, and that of
// its share, which it alone is charged to. While the first is not empty custody may send what others leave of the rate,
// and nothing is lost on the way. Where they leave none for long, it may send its share.
#pragma once

#include <cstdint>
#include <limits>

#include "base/time.hpp"

namespace longhaul::engine {

class Pacer {
 public:
  /// `bits_per_second` 0 means no limit.
  explicit Pacer(std::uint64_t bits_per_second) { set_rate(bits_per_second); }

  /// What was charged before stays.
  void set_rate(std::uint64_t bits_per_second);
  std::uint64_t rate_bps() const { return rate_bps_; }

  /// It is `now`: gives what the rate allows since the last call. Once per burst, before it is charged.
  void advance(Time now) {
    if (rate_bps_ != 0) refill(now);
  }

  bool may_send() const { return all_ >= 0 || (share_ >= 0 && now_ >= starved_at_); }

  /// What passes through.
  void charge(std::uint64_t bytes) { all_ -= to_units(bytes); }
  /// What was in custody. What it sends out of its share is not charged to the whole rate: otherwise that would stay in
  /// debt when the others slow down.
  void charge_held(std::uint64_t bytes) {
    if (all_ >= 0)
      charge(bytes);
    else
      charged_bytes_ += bytes;
    share_ -= to_units(bytes);
  }

  /// All that was charged so far. To be asked now and then: without a rate the buckets are filled here.
  std::uint64_t charged_bytes();

  /// When may_send() becomes true if nothing is charged; now or before when it is.
  Time ready_at() const;

 private:
  void refill(Time now);
  static std::int64_t to_units(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes) * kByte; }

  // Buckets count this many units to a byte. Integers are cheap, and at a slow rate a call brings less than a byte.
  static constexpr std::int64_t kByte = 1 << 20;
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 2;

  // What the rate decides, in units where nothing else is said.
  std::uint64_t rate_bps_ = 0;  // 0: no limit
  double per_ns_ = 0.0;
  std::int64_t most_ = 0;   // a bucket holds
  std::int64_t least_ = 0;  // a bucket's largest debt
  Duration starves_after_ = 0;
  // What may go now, in units. A negative bucket is in debt.
  std::int64_t all_ = kUnlimited;
  std::int64_t share_ = kUnlimited;
  Time now_ = 0;
  // How the first bucket has changed tells what was charged.
  std::int64_t all_before_ = kUnlimited;
  std::uint64_t charged_bytes_ = 0;
  Time starved_at_ = 0;  // moves on while all_ is not in debt
};

}  // namespace longhaul::engine
