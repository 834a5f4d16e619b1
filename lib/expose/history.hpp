// SPDX-License-Identifier: BSD-3-Clause
// The last minutes, for the plots of the status page.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string_view>

#include "expose/snapshot.hpp"

namespace longhaul::expose {

/// One plotted value: what happened in an interval, from the snapshots at its ends, `seconds` apart. Nothing when
/// nothing was measured in it.
struct Column {
  std::string_view name;
  std::optional<double> (*value)(const Snapshot& before, const Snapshot& after, double seconds);
};
inline constexpr std::size_t kColumns = 15;
std::span<const Column, kColumns> history_columns();

class History {
 public:
  struct Sample {
    double time = 0;  ///< its end, seconds since 1970
    std::array<std::optional<double>, kColumns> values;
  };

  /// Keeps the last `length` samples.
  explicit History(std::size_t length) : length_(length) {}

  /// Call it about once a second; the first call only begins an interval.
  void add(const Snapshot& snapshot, Time now);
  const std::deque<Sample>& samples() const { return samples_; }

 private:
  std::size_t length_;
  std::optional<Snapshot> before_;
  Time before_at_ = 0;
  std::deque<Sample> samples_;
};

}  // namespace longhaul::expose
