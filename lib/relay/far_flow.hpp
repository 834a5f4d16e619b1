// SPDX-License-Identifier: BSD-3-Clause
// What the far box knows of the order of one flow's requests: the first PSN that it has not handed on, and the runs of
// those that came behind a gap. The gap before each run is missing.
//
// An empty run says that everything before it was sent: so the end of a flow can be missing too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "flow/key_index.hpp"
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

  void clear() { runs_.clear(); }

 private:
  /// The first run that begins behind `psn`.
  std::vector<Run>::iterator behind(std::uint32_t next, std::uint32_t psn) {
    const std::uint32_t distance = (psn - next) & wire::kPsnMask;
    return std::ranges::upper_bound(runs_, distance, {},
                                    [next](const Run& run) { return (run.begin - next) & wire::kPsnMask; });
  }

  std::vector<Run> runs_;
};

struct FarFlow {
  flow::KeyIndex::Key key;
  PeerNumber peer = 0;
  Name name{};
  std::uint32_t path_mtu = 0;
  std::uint32_t next = 0;  ///< first PSN not handed on
  // PSNs that the near box has sent and does not have: [lacks_from, lacks_to).
  std::uint32_t lacks_from = 0;
  std::uint32_t lacks_to = 0;
  std::uint32_t hosts = 0;  ///< which share of the room its two hosts have
  Runs runs;
  std::uint8_t bound_left = 0;   ///< reports that must still say so
  std::uint8_t mended_left = 0;  ///< the same
  bool in_use = false;
  bool listed = false;  ///< among those that have something to report
  bool ready = false;   ///< among those that have something to hand on
  bool ending = false;  ///< gaps are not waited for any more, and the binding ends when all is handed on

  /// `psn` never comes from the near box.
  bool is_lacked(std::uint32_t psn) const { return !wire::psn_lt(psn, lacks_from) && wire::psn_lt(psn, lacks_to); }
  /// What is held next in order can go on.
  bool can_go() const { return !runs.empty() && (runs.first().begin == next || ending || is_lacked(next)); }
  bool has_gap() const { return !runs.empty() && runs.first().begin != next; }
};

}  // namespace longhaul::relay
