// SPDX-License-Identifier: BSD-3-Clause
// What the two ends of selective repeat have in common (docs/peer-protocol.md, sections 9.2, 9.3 and 10.2): how often
// the sender of packets tells the time, how many packets it had sent by each of those times, and the further copies of
// repairs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/time.hpp"
#include "relay/loss_rate.hpp"

namespace longhaul::relay {

/// Between two clocks to a peer at this distance.
constexpr Duration clock_interval(Duration round_trip) {
  constexpr unsigned kIntervals = 64;  // in a round trip
  return std::clamp(round_trip / kIntervals, microseconds(100), milliseconds(1));
}

/// Boxes of several workers say no more than others: between two messages that each worker of a box sends, or each
/// sends to each worker of a peer. `rows`: how many do so.
constexpr Duration spacing_of(unsigned rows) { return rows <= 1 ? 0 : microseconds(50) * rows; }
inline constexpr Duration kWidestSpacing = milliseconds(10);
inline constexpr Duration kNarrowSpacing = milliseconds(1);

/// After a packet clocks go on for so long.
constexpr Duration active_for(Duration round_trip) { return milliseconds(20) + 4 * round_trip; }

// How long a box may hold a packet, or keep a copy. Queue pairs that end and come back (a process starts again) do so
// 2 round trips and 20 ms later at the soonest: no network keeps a packet longer, and IBTA's TimeWait is for that (vol.
// 1, 12.9.8.4). Half a round trip of it is the way to the box that holds, or from the box that keeps.

/// Between two lives of the same queue pairs, at least.
constexpr Duration between_lives(Duration round_trip) { return milliseconds(20) + 2 * round_trip; }

/// Of what a box holds or keeps.
constexpr Duration oldest_for(Duration round_trip) { return between_lives(round_trip) - round_trip / 2; }

/// A box holds or keeps no packet of one life for longer.
constexpr Duration lifetime_for(Duration round_trip) {
  return std::min(std::max(milliseconds(20), 4 * round_trip), oldest_for(round_trip));
}

/// So long a gap is waited for.
constexpr Duration patience_for(Duration round_trip) {
  return std::min(std::max(milliseconds(20), 3 * round_trip), oldest_for(round_trip));
}

/// So long the requests of a doubted flow wait for the far box's word: nothing that it held when the doubt began is
/// there any longer.
constexpr Duration word_for(Duration round_trip) {
  return std::min(std::max(milliseconds(20), 4 * round_trip), between_lives(round_trip));
}

/// One token for each thing that may be done; the owner says how many are earned.
class TokenBucket {
 public:
  explicit TokenBucket(double tokens) : tokens_(tokens) {}
  /// `earned` since the last call; `most` may be saved.
  bool take(double earned, double most) {
    tokens_ = std::min(tokens_ + earned, most);
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }
  /// What came with the last one: it has to be earned, too.
  void owe(unsigned tokens) { tokens_ -= tokens; }

 private:
  double tokens_;
};

/// How many clocks may go: one for each kPackets packets that they are about, and besides one in an eighth of a round
/// trip, or in 10 ms over a short way, where timers repair as fast. A slow link, or one with little traffic, must not
/// be full of them.
class ClockBudget {
 public:
  /// The next may go now. `packets`: that were sent so far.
  bool take(std::uint64_t packets, Duration round_trip, Time now) {
    const bool is_short = round_trip < milliseconds(5);
    const double base = static_cast<double>(is_short ? milliseconds(10) : round_trip / 8);
    const double earned = static_cast<double>(packets - packets_) / kPackets + static_cast<double>(now - at_) / base;
    packets_ = packets;
    at_ = now;
    return clocks_.take(earned, is_short ? 16.0 : 64.0);
  }
  /// So many more have gone with the one that was taken.
  void owe(unsigned clocks) { clocks_.owe(clocks); }

 private:
  static constexpr double kPackets = 21;  // the least have 86 bytes, like a clock
  TokenBucket clocks_{16};
  std::uint64_t packets_ = 0;
  Time at_ = 0;
};

/// How often bindings may begin anew because custody goes back. Each NAK of a far host makes it go back, and a peer
/// limits how many datagrams it reads.
class RebindBudget {
 public:
  bool take(Time now) {
    constexpr double kASecond = 5000;
    const double earned = static_cast<double>(now - at_) * kASecond / static_cast<double>(seconds(1));
    at_ = now;
    return bindings_.take(earned, kMost);
  }

 private:
  static constexpr double kMost = 64;
  TokenBucket bindings_{kMost};
  Time at_ = 0;
};

/// How many packets had been sent when each of the last clocks was.
class SentBefore {
 public:
  void note(Time clock, std::uint64_t packets) {
    if (sent_.size() < kMost) sent_.push_back({clock, packets});
  }
  /// Packets that were sent before the newest clock that was echoed.
  std::uint64_t covered_by(std::uint64_t echo) {
    for (; !sent_.empty() && sent_.front().clock <= echo; sent_.pop_front()) covered_ = sent_.front().packets;
    return covered_;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  struct Sent {
    Time clock;
    std::uint64_t packets;
  };
  std::deque<Sent> sent_;
  std::uint64_t covered_ = 0;
};

/// Further copies of repairs, some time apart. A `Packet` is what finds one again.
template <typename Packet>
class MoreCopies {
 public:
  /// Each of `packets` has been sent once, and goes `copies` times in all.
  template <typename Packets>
  void add(const Packets& packets, unsigned copies, Time now) {
    if (copies == 1) return;
    for (const Packet& packet : packets) waiting_.push_back({packet, copies - 1, now + LossRate::kCopiesApart});
  }
  /// `send` returns false for a packet that need not go again.
  template <typename Send>
  void send_due(Time now, Send&& send) {
    while (due() <= now) {
      Copy copy = waiting_.front();
      waiting_.pop_front();
      if (!send(copy.packet) || --copy.left == 0) continue;
      copy.at = now + LossRate::kCopiesApart;
      waiting_.push_back(copy);
    }
  }
  Time due() const { return waiting_.empty() ? kNever : waiting_.front().at; }

 private:
  struct Copy {
    Packet packet;
    unsigned left;
    Time at;
  };
  std::deque<Copy> waiting_;  ///< by time
};

}  // namespace longhaul::relay
