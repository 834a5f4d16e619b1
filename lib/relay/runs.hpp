// SPDX-License-Identifier: BSD-3-Clause
// What has come of one flow behind what is missing: runs of PSNs. The gap before each run is missing.
//
// An empty run says that everything before it was sent: so the end of a flow can be missing too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "relay/messages.hpp"
#include "wire/psn.hpp"

namespace longhaul::relay {

/// PSNs that have come, [begin, end).
struct Run {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint8_t told = 0;  ///< reports that have named the gap before it, 3 at most
  Time since = 0;         ///< when that gap was found
};

class Runs {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::uint8_t kTold = 3;

  enum class Outcome : std::uint8_t { added, there, overlaps, full };

  bool empty() const { return runs_.empty(); }
  std::vector<Run>& all() { return runs_; }
  const std::vector<Run>& all() const { return runs_; }
  Run& first() { return runs_.front(); }
  const Run& first() const { return runs_.front(); }
  const Run& last() const { return runs_.back(); }

  /// [psn, end), none of it before `next`. `there`: a run begins at it or has it; the caller finds out what is there.
  Outcome add(std::uint32_t next, std::uint32_t psn, std::uint32_t end, Time now) {
    const auto after = behind(next, psn);
    if (after != runs_.begin() && wire::psn_lt(psn, std::prev(after)->end)) return Outcome::there;
    if (after != runs_.end() && wire::psn_lt(after->begin, end)) return Outcome::overlaps;
    if (after != runs_.begin() && std::prev(after)->end == psn) {
      const auto before = std::prev(after);
      before->end = end;
      if (after != runs_.end() && after->begin == end) {
        before->end = after->end;
        runs_.erase(after);
      }
      return Outcome::added;
    }
    if (after != runs_.end() && after->begin == end) {
      after->begin = psn;
      return Outcome::added;
    }
    if (runs_.size() == kMost) return Outcome::full;
    // What is still missing around it was found to be missing before.
    const Run run = after == runs_.end() ? Run{psn, end, 0, now} : Run{psn, end, after->told, after->since};
    runs_.insert(after, run);
    return Outcome::added;
  }

  /// Everything before `top` was sent.
  void expect(std::uint32_t next, std::uint32_t top, Time now) {
    const std::uint32_t known = runs_.empty() ? next : runs_.back().end;
    if (wire::psn_lt(known, top) && runs_.size() < kMost) runs_.push_back({top, top, 0, now});
  }

  /// The first run has lost its packets up to `next`.
  void begin_at(std::uint32_t next) {
    runs_.front().begin = next;
    if (!wire::psn_lt(next, runs_.front().end)) runs_.erase(runs_.begin());
  }

  /// Nothing before `next` is missing any more.
  void forget_before(std::uint32_t next) {
    const auto kept = std::ranges::find_if(runs_, [next](const Run& run) { return wire::psn_lt(next, run.end); });
    runs_.erase(runs_.begin(), kept);
    if (!runs_.empty() && wire::psn_lt(runs_.front().begin, next)) runs_.front().begin = next;
  }

  /// Calls `tell` with each gap behind `next` that a report must name; a full one names all.
  template <typename Tell>
  void for_missing(std::uint32_t next, bool full, Tell&& tell) {
    std::uint32_t from = next;
    for (Run& run : runs_) {
      if (from != run.begin && (full || run.told < kTold)) {
        tell(Missing{from, (run.begin - from) & wire::kPsnMask});
        if (run.told < kTold) ++run.told;
      }
      from = run.end;
    }
  }

  void clear() {
    constexpr std::size_t kUsual = 64;
    runs_.clear();
    if (runs_.capacity() > kUsual) runs_.shrink_to_fit();
  }

 private:
  /// The first run that begins behind `psn`.
  std::vector<Run>::iterator behind(std::uint32_t next, std::uint32_t psn) {
    const std::uint32_t distance = (psn - next) & wire::kPsnMask;
    return std::ranges::upper_bound(runs_, distance, {},
                                    [next](const Run& run) { return (run.begin - next) & wire::kPsnMask; });
  }

  std::vector<Run> runs_;
};

}  // namespace longhaul::relay
