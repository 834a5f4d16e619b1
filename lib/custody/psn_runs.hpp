// SPDX-License-Identifier: BSD-3-Clause
// Which PSNs have been seen, as a few runs without holes, anywhere on the circle. When there are too many runs, the two
// closest are joined. The set may then have too many PSNs, never too few.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wire/psn.hpp"

namespace longhaul::custody {

class PsnRuns {
 public:
  bool empty() const { return count_ == 0; }

  /// Adds [low, end); an empty range marks a place.
  void add(std::uint32_t low, std::uint32_t end) {
    Run run{low, ahead(low, end)};
    // The new run takes in the runs that it touches.
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const Run other = runs_[i];
      if (run.touches(other.low))
        run = joined(run, other);
      else if (other.touches(run.low))
        run = joined(other, run);
      else
        runs_[kept++] = other;
    }
    count_ = kept;
    runs_[count_++] = run;
    if (count_ > kMost) join_nearest();
  }

  /// `psn` is in a run.
  bool has(std::uint32_t psn) const {
    return any([psn](const Run& run) { return ahead(run.low, psn) < run.length; });
  }
  /// `psn` is in a run or directly after one.
  bool touches(std::uint32_t psn) const {
    return any([psn](const Run& run) { return run.touches(psn); });
  }
  /// A run ends at `psn`, or up to `reach` PSNs before it.
  bool ends_within(std::uint32_t psn, std::uint32_t reach) const {
    return any([=](const Run& run) { return ahead(run.end(), psn) <= reach; });
  }
  /// First PSN after the last run that ends beyond `psn` and is not empty; `psn` when there is none.
  std::uint32_t top_from(std::uint32_t psn) const {
    std::uint32_t top = psn;
    for (unsigned i = 0; i < count_; ++i)
      if (runs_[i].length > 0 && wire::psn_lt(top, runs_[i].end())) top = runs_[i].end();
    return top;
  }

 private:
  static constexpr unsigned kMost = 8;
  static constexpr std::uint32_t kAll = wire::kPsnMask + 1;  // the most that a run can have

  static std::uint32_t ahead(std::uint32_t from, std::uint32_t to) { return (to - from) & wire::kPsnMask; }

  struct Run {
    std::uint32_t low = 0;
    std::uint32_t length = 0;
    std::uint32_t end() const { return wire::psn_add(low, static_cast<std::int32_t>(length)); }
    bool touches(std::uint32_t psn) const { return ahead(low, psn) <= length; }
  };

  /// `second` begins in or after `first`.
  static Run joined(const Run& first, const Run& second) {
    const std::uint32_t reach = ahead(first.low, second.low) + second.length;
    return {first.low, std::min(std::max(first.length, reach), kAll)};
  }

  void join_nearest() {
    std::sort(runs_.begin(), runs_.begin() + count_, [](const Run& a, const Run& b) { return a.low < b.low; });
    const auto next = [this](unsigned i) { return (i + 1) % count_; };
    unsigned nearest = 0;
    for (unsigned i = 1; i < count_; ++i)
      if (ahead(runs_[i].end(), runs_[next(i)].low) < ahead(runs_[nearest].end(), runs_[next(nearest)].low))
        nearest = i;
    const unsigned taken_in = next(nearest);
    runs_[nearest] = joined(runs_[nearest], runs_[taken_in]);
    runs_[taken_in] = runs_[--count_];
  }

  template <typename Condition>
  bool any(Condition condition) const {
    return std::any_of(runs_.begin(), runs_.begin() + count_, condition);
  }

  std::array<Run, kMost + 1> runs_{};
  unsigned count_ = 0;
};

}  // namespace longhaul::custody
