// SPDX-License-Identifier: BSD-3-Clause
// How much of what is sent the long haul loses, and what that means for repairs: how many copies of each, and how long
// a packet may be overtaken before it counts as lost (docs/peer-protocol.md, section 9.3).
//
// A report tells of what was sent before the clock that it echoes. So what it calls lost is compared with the packets
// sent until then, and the first report already says how bad it is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace longhaul::relay {

class LossRate {
 public:
  static constexpr Duration kLeastWindow = microseconds(100);
  static constexpr unsigned kMostCopies = 3;
  static constexpr Duration kCopiesApart = microseconds(50);
  static constexpr unsigned kCalmRounds = 16;  ///< in a row without a needless repair, until the window is halved

  /// What has happened since the start.
  struct Counts {
    std::uint64_t covered = 0;  ///< packets sent before the newest clock that was echoed, repairs too
    std::uint64_t repairs = 0;  ///< packets that were lost, once for each time
    std::uint64_t copies = 0;   ///< of repairs, beside the first
    std::uint64_t others = 0;   ///< sent again for another reason: by a timer, for a NAK, by the requester
    std::uint32_t repeats = 0;  ///< packets that the far box had already, modulo 2^32
  };

  /// Call for each report. `lost`: packets that it calls lost, and that are not among the repairs yet. `in_flight`:
  /// packets sent within a round trip.
  void look(const Counts& counts, std::uint64_t lost, std::uint64_t in_flight, Duration round_trip, Time now) {
    const double more_lost = static_cast<double>(counts.repairs - round_.repairs + lost);
    const double more_covered = static_cast<double>(counts.covered - std::min(counts.covered, round_.covered));
    const double all = covered_ + more_covered;
    const double part = all > 0 ? std::min(1.0, (lost_ + more_lost) / all) : 0;
    copies_ = 1;
    for (double left = static_cast<double>(in_flight) * part * part; copies_ < kMostCopies && left > kMayBeLost;
         left *= part)
      ++copies_;
    if (round_trip == 0 || now < round_until_) return;
    if (round_until_ != 0)
      end_round(counts, round_trip);
    else
      covered_ = static_cast<double>(counts.covered);
    round_until_ = now + round_trip;
    round_ = counts;
  }

  /// Each repair is sent so many times.
  unsigned copies() const { return copies_; }
  Duration window() const { return window_; }

 private:
  static constexpr double kMayBeLost = 0.01;  ///< repairs a round trip

  void end_round(const Counts& counts, Duration round_trip) {
    // The last 8 rounds count most.
    constexpr double kKept = 7.0 / 8;
    covered_ = covered_ * kKept + static_cast<double>(counts.covered - std::min(counts.covered, round_.covered));
    lost_ = lost_ * kKept + static_cast<double>(counts.repairs - round_.repairs);
    look_at_window(counts, round_trip);
  }

  // What comes again in this round was sent again in the last one.
  void look_at_window(const Counts& counts, Duration round_trip) {
    const std::uint32_t came_again = counts.repeats - round_.repeats;
    const std::uint64_t others = counts.others - round_.others;
    const Counts before = last_;
    last_.repairs = counts.repairs - round_.repairs;
    last_.copies = counts.copies - round_.copies;
    last_.others = others;
    if (before.others != 0 || others != 0) return;
    constexpr std::uint64_t kFew = 4;
    const std::uint64_t needless = came_again > before.copies ? came_again - before.copies : 0;
    calm_rounds_ = needless == 0 ? calm_rounds_ + 1 : 0;
    if (before.repairs >= kFew && 2 * needless > before.repairs) {
      window_ = std::max(kLeastWindow, std::min(2 * window_, round_trip / 2));
    } else if (calm_rounds_ >= kCalmRounds) {
      window_ = std::max(kLeastWindow, window_ / 2);
      calm_rounds_ = 0;
    }
  }

  Counts round_;  ///< at the start of this round
  Counts last_;   ///< in the last round
  Time round_until_ = 0;
  double covered_ = 0;
  double lost_ = 0;
  unsigned copies_ = 1;
  Duration window_ = kLeastWindow;
  unsigned calm_rounds_ = 0;
};

}  // namespace longhaul::relay
