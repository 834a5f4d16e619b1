// SPDX-License-Identifier: BSD-3-Clause
// Which PSNs have been seen, as a few runs without holes. Where there are more runs than places, the two highest become
// one: then it says too much, never too little, and not where custody begins.
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
  struct Run {
    std::uint32_t low = 0;
    std::uint32_t end = 0;  ///< first PSN after it; an empty run marks a place
  };

  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }

  /// [low, end), on the circle; all runs must lie within half of it.
  void add(std::uint32_t low, std::uint32_t end) {
    Run run{low, end};
    // Takes in what it touches.
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const Run& other = runs_[i];
      if (wire::psn_lt(run.end, other.low) || wire::psn_lt(other.end, run.low))
        runs_[kept++] = other;
      else
        run = joined(run, other);
    }
    count_ = kept;
    runs_[count_++] = run;
    std::sort(runs_.begin(), runs_.begin() + count_,
              [](const Run& a, const Run& b) { return wire::psn_lt(a.low, b.low); });
    if (count_ > kMost) {
      runs_[count_ - 2] = joined(runs_[count_ - 2], runs_[count_ - 1]);
      --count_;
    }
  }

  /// The run that has `psn`, or null.
  const Run* of(std::uint32_t psn) const {
    const auto found = std::find_if(runs_.begin(), runs_.begin() + count_, [psn](const Run& run) {
      return wire::psn_le(run.low, psn) && wire::psn_lt(psn, run.end);
    });
    return found == runs_.begin() + count_ ? nullptr : &*found;
  }
  /// `psn` is in a run or follows on one.
  bool touches(std::uint32_t psn) const {
    return std::any_of(runs_.begin(), runs_.begin() + count_,
                       [psn](const Run& run) { return wire::psn_le(run.low, psn) && wire::psn_le(psn, run.end); });
  }
  /// After the last run that ends beyond `psn` and is not empty; `psn` without one.
  std::uint32_t top_from(std::uint32_t psn) const {
    std::uint32_t top = psn;
    for (unsigned i = 0; i < count_; ++i)
      if (runs_[i].low != runs_[i].end && wire::psn_lt(top, runs_[i].end)) top = runs_[i].end;
    return top;
  }

 private:
  static constexpr unsigned kMost = 8;

  static Run joined(const Run& a, const Run& b) {
    return {wire::psn_lt(a.low, b.low) ? a.low : b.low, wire::psn_lt(a.end, b.end) ? b.end : a.end};
  }

  std::array<Run, kMost + 1> runs_{};  // in order
  unsigned count_ = 0;
};

/// Requests that have been seen lately: PSNs that do not come again while others do are forgotten after one to two
/// spans of time. An empty run is a place where requests may begin that were announced, and none was seen.
class RecentPsnRuns {
 public:
  using Run = PsnRuns::Run;

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
  /// The longer of two runs that have `psn`, or null.
  const Run* of(std::uint32_t psn) const {
    const Run* recent = recent_.of(psn);
    const Run* earlier = earlier_.of(psn);
    if (recent == nullptr || earlier == nullptr) return recent != nullptr ? recent : earlier;
    return wire::psn_lt(earlier->low, recent->low) ? earlier : recent;
  }
  bool touches(std::uint32_t psn) const { return recent_.touches(psn) || earlier_.touches(psn); }
  /// Of all requests that were ever added. Nothing without any, and where they lie so far apart on the circle that none
  /// comes before the others.
  std::optional<std::uint32_t> lowest() const { return ordered_ ? lowest_ : std::nullopt; }
  /// Something was forgotten.
  bool forgot() const { return forgot_; }
  /// When something was last added, and where that ended. Not when empty.
  Time last_at() const { return last_at_; }
  std::uint32_t last_end() const { return last_end_; }
  /// After the highest request that is remembered beyond `psn`; `psn` without one.
  std::uint32_t top_from(std::uint32_t psn) const { return earlier_.top_from(recent_.top_from(psn)); }

 private:
  // A quarter of the circle: what goes on from there to beyond the half is noticed on its way.
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
