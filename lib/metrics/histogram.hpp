// SPDX-License-Identifier: BSD-3-Clause
// A histogram of durations with logarithmic buckets: fixed memory, no allocation, at most 1/16 relative error.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace longhaul::metrics {

/// Values in nanoseconds from 0 to 2^63; each power of two is divided into 16 buckets.
class Histogram {
 public:
  static constexpr unsigned kSubBits = 4;
  static constexpr std::size_t kBuckets = (64 - kSubBits) << kSubBits;

  /// `value` came `times` times.
  [[gnu::always_inline]] void record(std::uint64_t value, std::uint64_t times = 1) noexcept {
    buckets_[index_of(value)] += times;
    sum_ += value * times;
    if (value > max_) max_ = value;
  }

  /// Adds the values of another worker.
  Histogram& operator+=(const Histogram& more) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += more.buckets_[i];
    sum_ += more.sum_;
    if (more.max_ > max_) max_ = more.max_;
    return *this;
  }

  std::uint64_t count() const noexcept { return std::accumulate(buckets_.begin(), buckets_.end(), std::uint64_t{0}); }
  std::uint64_t sum() const noexcept { return sum_; }
  std::uint64_t max() const noexcept { return max_; }

  /// The upper edge of the bucket that holds the `fraction` (0 to 1) quantile; 0 when empty.
  std::uint64_t quantile(double fraction) const noexcept {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const std::uint64_t rank = std::min(static_cast<std::uint64_t>(fraction * static_cast<double>(all)), all - 1);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i];
      if (seen > rank) return upper_edge(i) < max_ ? upper_edge(i) : max_;
    }
    return max_;
  }

  std::uint64_t bucket(std::size_t i) const noexcept { return buckets_[i]; }

  static constexpr std::size_t index_of(std::uint64_t value) noexcept {
    if (value < (1u << kSubBits)) return static_cast<std::size_t>(value);
    const unsigned exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
    const std::uint64_t mantissa = (value >> (exponent - kSubBits)) & ((1u << kSubBits) - 1);
    const std::size_t index = ((static_cast<std::size_t>(exponent) - kSubBits + 1) << kSubBits) + mantissa;
    return index < kBuckets ? index : kBuckets - 1;
  }

  /// The largest value that falls into bucket `i`.
  static constexpr std::uint64_t upper_edge(std::size_t i) noexcept {
    if (i < (1u << kSubBits)) return i;
    const std::size_t exponent = (i >> kSubBits) + kSubBits - 1;
    const std::uint64_t mantissa = i & ((1u << kSubBits) - 1);
    const std::uint64_t base = ((1ull << kSubBits) + mantissa) << (exponent - kSubBits);
    return base + ((1ull << (exponent - kSubBits)) - 1);
  }

 private:
  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

static_assert(Histogram::upper_edge(Histogram::index_of(15)) == 15);
static_assert(Histogram::upper_edge(Histogram::index_of(16)) == 16);
static_assert(Histogram::upper_edge(Histogram::index_of(1000)) >= 1000 &&
              Histogram::upper_edge(Histogram::index_of(1000)) < 1063);

}  // namespace longhaul::metrics
