// SPDX-License-Identifier: BSD-3-Clause
// Which PSNs have been seen, as a few runs without holes, anywhere on the circle. Where there are more runs than
// places, the two with the least between them become one: then it says too much, never too little.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "flow/time.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

class PsnRuns {
 public:
  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }

  /// [low, end); when that is empty it marks a place.
  void add(std::uint32_t low, std::uint32_t end) {
    Run run{low, ahead(low, end)};
    // Takes in what it touches.
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
  /// `psn` is in a run or follows on one.
  bool touches(std::uint32_t psn) const {
    return any([psn](const Run& run) { return run.touches(psn); });
  }
  /// After the last run that ends beyond `psn` and is not empty; `psn` without one.
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

/// Requests seen recently: PSNs that do not come again while others do are forgotten after one to two spans of time. An
/// empty run marks where announced requests will begin; none of them has been seen.
class RecentPsnRuns {
 public:
  bool empty() const { return recent_.empty(); }
  void clear() { *this = {}; }
  void add(std::uint32_t low, std::uint32_t end, Time now, Duration span) {
    if (recent_.empty()) began_ = now;
    if (low != end) {
      note_lowest(low);
      // A place alone is no sign that a requester goes on.
      if (now - began_ > span) {
        forgot_ = forgot_ || !earlier_.empty();
        earlier_ = recent_;
        recent_.clear();
        began_ = now;
      }
    }
    recent_.add(low, end);
    last_at_ = now;
    last_end_ = end;
  }
  bool has(std::uint32_t psn) const { return recent_.has(psn) || earlier_.has(psn); }
  bool touches(std::uint32_t psn) const { return recent_.touches(psn) || earlier_.touches(psn); }
  /// Of all requests ever added. Nothing when there are none, or when they lie too far apart on the circle to be
  /// ordered.
  std::optional<std::uint32_t> lowest() const { return ordered_ ? lowest_ : std::nullopt; }
  /// Something was forgotten.
  bool forgot() const { return forgot_; }
  /// When something was last added, and where that ended. Not when empty.
  Time last_at() const { return last_at_; }
  std::uint32_t last_end() const { return last_end_; }
  /// After the highest request that is remembered beyond `psn`; `psn` without one.
  std::uint32_t top_from(std::uint32_t psn) const { return earlier_.top_from(recent_.top_from(psn)); }

 private:
  // A quarter of the circle. A requester that goes on past half of it is noticed before it gets there.
  static constexpr std::int32_t kOrdered = 1 << 22;

  void note_lowest(std::uint32_t low) {
    const std::int32_t ahead = lowest_ ? wire::psn_diff(low, *lowest_) : 0;
    if (ahead > kOrdered || ahead < -kOrdered) ordered_ = false;
    if (!lowest_ || ahead < 0) lowest_ = low;
  }

  PsnRuns recent_;
  PsnRuns earlier_;
  Time began_ = 0;
  Time last_at_ = 0;
  std::uint32_t last_end_ = 0;
  std::optional<std::uint32_t> lowest_;
  bool ordered_ = true;
  bool forgot_ = false;
};

}  // namespace longhaul::custody
