// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pacer.hpp"

#include <algorithm>

namespace longhaul::engine {

namespace {

constexpr double kBurst = 20'000.0;  // nanoseconds ahead of the rate
constexpr double kMostDebt = 1e8;    // nanoseconds of debt that are made up for, about what a router queues
constexpr double kShare = 0.5;
// Custody starves when it may send nothing for 10 ms. On a slow link one frame may take that long, so it also takes at
// least the time of 256 KiB.
constexpr Duration kStarved = milliseconds(10);
constexpr double kStarvedBytes = 1 << 18;

}  // namespace

void Pacer::set_rate(std::uint64_t bits_per_second, std::uint32_t overhead) {
  overhead_ = overhead;
  if (bits_per_second == rate_bps_) return;
  charged_bytes();
  rate_bps_ = bits_per_second;
  per_ns_ = static_cast<double>(bits_per_second) / 8e9 * kByte;
  if (bits_per_second == 0) {
    all_ = all_before_ = share_ = held_ = kUnlimited;
    return;
  }
  most_ = static_cast<std::int64_t>(kBurst * per_ns_);
  least_ = static_cast<std::int64_t>(-kMostDebt * per_ns_);
  starves_after_ = std::max(kStarved, static_cast<Duration>(kStarvedBytes * kByte / per_ns_));
  all_ = all_before_ = std::min(all_, most_);
  share_ = std::min(share_, most_);
  held_ = std::min(held_, most_);
}

std::uint64_t Pacer::charged_bytes() {
  charged_bytes_ += static_cast<std::uint64_t>((all_before_ - all_) / kByte);
  if (rate_bps_ == 0) all_ = share_ = held_ = kUnlimited;
  all_before_ = all_;
  return charged_bytes_;
}

void Pacer::refill(Time now) {
  charged_bytes();
  // A longer time would only fill a bucket that is full already.
  const double more = std::min(static_cast<double>(now - now_), (kMostDebt + kBurst) / kShare) * per_ns_;
  now_ = now;
  const auto fill = [&](std::int64_t& bucket, double units) {
    bucket = std::min(std::max(bucket, least_) + static_cast<std::int64_t>(units), most_);
  };
  fill(all_, more);
  fill(share_, more * kShare);
  fill(held_, more);
  all_before_ = all_;
  if (all_ >= 0) starved_at_ = now + starves_after_;
}

Time Pacer::paid_at(std::int64_t bucket, double part) const {
  return now_ + static_cast<Time>(std::max(0.0, static_cast<double>(-bucket)) / part / per_ns_) + 1;
}

Time Pacer::ready_at() const {
  if (may_send()) return now_;
  return std::min(paid_at(all_, 1), std::max(paid_at(share_, kShare), starved_at_));
}

Time Pacer::unconfirmed_ready_at() const { return may_send_unconfirmed() ? now_ : paid_at(std::max(all_, held_), 1); }

}  // namespace longhaul::engine
