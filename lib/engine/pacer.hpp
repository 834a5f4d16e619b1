// SPDX-License-Identifier: BSD-3-Clause
// Keeps what leaves a port at or below a rate, except for short bursts. Traffic that passes through is charged but
// never held: only packets in custody may wait. Passing traffic may exceed the rate for long, so custody has a share of
// the rate that nothing else uses up. There are three buckets. The bucket of the whole rate is charged for all traffic,
// the bucket of the share for custody alone. While the first is not in debt, custody sends what passing traffic leaves
// of the rate, and nothing is lost on the way. When passing traffic leaves nothing for long, custody sends its share.
//
// The third bucket is for packets of flows that no answer has confirmed yet. Their requesters have no pseudo-ACK, and
// without a box such a packet would be in the link's queue before all traffic that comes later. So these packets wait
// for what custody has sent, at the whole rate, and never for passing traffic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/time.hpp"

namespace longhaul::engine {

class Pacer {
 public:
  /// `bits_per_second` 0 means no limit. Each frame counts as `overhead` bytes more than it has.
  explicit Pacer(std::uint64_t bits_per_second, std::uint32_t overhead = 0) { set_rate(bits_per_second, overhead); }

  /// What was charged before stays charged.
  void set_rate(std::uint64_t bits_per_second, std::uint32_t overhead = 0);
  std::uint64_t rate_bps() const { return rate_bps_; }

  /// Adds what the rate allows since the last call. Call it once per burst, before the burst is charged.
  void advance(Time now) {
    if (rate_bps_ != 0) refill(now);
  }

  bool may_send() const { return all_ >= 0 || (share_ >= 0 && now_ >= starved_at_); }
  /// The same for a packet of an unconfirmed flow.
  bool may_send_unconfirmed() const { return all_ >= 0 || held_ >= 0; }

  /// Charges `frames` frames that pass through, of `bytes` in all.
  void charge(std::uint64_t bytes, std::uint64_t frames = 1) { all_ -= units_of(bytes, frames); }
  /// Charges a frame from custody. What custody sends out of its share is not charged to the whole rate: otherwise that
  /// bucket would stay in debt when passing traffic slows down.
  void charge_held(std::uint64_t bytes) {
    const std::int64_t units = units_of(bytes, 1);
    if (all_ >= 0)
      all_ -= units;
    else
      charged_bytes_ += bytes + overhead_;
    share_ -= units;
    held_ -= units;
  }
  /// Charges a frame from custody of an unconfirmed flow: without custody it would have passed.
  void charge_unconfirmed(std::uint64_t bytes) {
    charge(bytes);
    held_ -= units_of(bytes, 1);
  }

  /// What passes is known to leave nothing: custody has its share from now on.
  void begin_share() { starved_at_ = std::min(starved_at_, now_); }

  /// All bytes charged so far, overhead included. Call it now and then: without a rate, only this call fills the
  /// buckets.
  std::uint64_t charged_bytes();

  /// The time that the rate needs for what has left ahead of it.
  Duration debt() const { return all_ >= 0 ? 0 : static_cast<Duration>(static_cast<double>(-all_) / per_ns_); }

  /// When may_send() becomes true if nothing more is charged; a time that has passed when it is true already.
  Time ready_at() const;
  /// The same for may_send_unconfirmed().
  Time unconfirmed_ready_at() const;

 private:
  void refill(Time now);
  /// When a bucket that fills at `part` of the rate has paid its debt.
  Time paid_at(std::int64_t bucket, double part) const;
  std::int64_t units_of(std::uint64_t bytes, std::uint64_t frames) const {
    return static_cast<std::int64_t>(bytes + frames * overhead_) * kByte;
  }

  // Buckets count this many units to a byte. Integers are cheap, and at a slow rate a call brings less than a byte.
  static constexpr std::int64_t kByte = 1 << 20;
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 2;

  // Derived from the rate; in units where nothing else is said.
  std::uint64_t rate_bps_ = 0;  // 0: no limit
  std::uint32_t overhead_ = 0;  // bytes
  double per_ns_ = 0.0;
  std::int64_t most_ = 0;   // capacity of a bucket
  std::int64_t least_ = 0;  // largest debt of a bucket
  Duration starves_after_ = 0;
  // What may go now, in units. A negative bucket is in debt.
  std::int64_t all_ = kUnlimited;
  std::int64_t share_ = kUnlimited;
  std::int64_t held_ = kUnlimited;
  Time now_ = 0;
  // The change of the first bucket since this value tells what was charged.
  std::int64_t all_before_ = kUnlimited;
  std::uint64_t charged_bytes_ = 0;
  Time starved_at_ = 0;  // moves on while all_ is not in debt
};

}  // namespace longhaul::engine
