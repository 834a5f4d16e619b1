// SPDX-License-Identifier: BSD-3-Clause
// Estimates the long link from what a worker sends and when the answers come: its rate, its own delay, and how long
// frames wait in its queue. The model is BBR (Cardwell et al., ACM Queue 14-5, 2016), but for all flows of a worker
// together.
//
// Delay. The least round trip of the last 10 to 20 seconds is the link's own. Any delay beyond it is queueing.
//
// Rate. When a packet reaches the queue before an earlier one has left it, the link carries the two back to back. The
// bytes sent between them, divided by the time between their answers, are then the rate of the link. This needs no
// knowledge of the responder or of other traffic, and answers for whole messages do no harm. Answers that were held up
// and arrive together make the rate too high, so the rate over a whole round limits it. (A round lasts a round trip, 1
// ms at least.) Losses make the rate too high, so a round with losses never raises it. A link that stood still for a
// moment makes the rate too low, so the greatest of the last eight rounds counts. Two things look like a full link and
// are not. A slow responder delays the answers of its own flows, so a round counts only when its least delayed answer
// was delayed. A full return path delays all answers, so the rate is at least what the box receives from there.
//
// Pace. One round a quarter faster than the rate, to see whether the link has become faster; one a quarter slower, to
// empty the queue that this made; six at the rate. While a queue stands, a quarter slower. A rate that no traffic has
// come near for 10 seconds is forgotten: frames then leave as fast as they come until there is a queue again.
//
// Start. Until the link was full once, the box makes no pseudo-ACK while custody has more than room_bytes() in all.
// That begins at about TCP's initial window (RFC 6928), and doubles after each round that it limited and that lost
// nothing. With a configured pace there is no such limit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.hpp"
#include "custody/rtt.hpp"

namespace longhaul::custody {

class LinkEstimate {
 public:
  /// No limit at the start: the pace is configured, or is to have no limit.
  void skip_start() { starting_ = false; }

  /// An answer came just now to a packet that was sent once, at `sent_at`.
  void on_answer(Time sent_at, Time now) { newest_ = {sent_at, now}; }
  /// When to call look() next: at the end of the first burst from then on.
  Time due_at() const { return due_at_; }
  /// `sent` and `received`: frame bytes so far that were sent to the link, resends included, and that came from it.
  [[gnu::cold]] void look(std::uint64_t sent, std::uint64_t received, Time now);
  /// The link has lost something, or so it seems.
  void on_loss(Time now) { lost_at_ = now; }

  /// Of all flows together.
  const RttEstimator& rtt() const { return rtt_; }
  /// Bits per second of frames, without preamble, gap and FCS; 0: the link was not full lately.
  std::uint64_t rate_bps() const { return to_bps(rate_); }
  /// How fast to send, in the same unit; 0: as fast as frames come.
  std::uint64_t pace_bps() const { return pace_bps_; }
  /// The queueing delay of the least delayed answer of the last round.
  Duration queued() const { return queued_; }

  /// The link has not been full yet: room_bytes() is a limit.
  bool starting() const { return starting_; }
  /// Bytes that custody may have in all while pseudo-ACKs go out.
  std::uint64_t room_bytes() const { return room_bytes_; }
  /// A pseudo-ACK had to wait because custody had more than room_bytes().
  void on_limited() { limited_ = true; }

 private:
  struct Mark {
    Time at = 0;
    std::uint64_t sent = 0;
  };
  struct Answer {
    Time sent_at = 0;
    Time at = 0;
    double sent = 0;  // bytes that had been sent by sent_at
  };
  static constexpr Duration kNone = ~Duration{0};
  struct Round {
    Time began = 0;
    std::uint64_t received = 0;  // before it
    Duration queued = kNone;     // the least
    // Bytes per nanosecond between answers of packets that were carried back to back.
    double longest = 0;     // the rate over the most bytes
    double longest_of = 0;  // those bytes
    double least = 0;
    double carried = 0;  // over a whole round, with or without a queue
  };

  void mark(std::uint64_t sent, Time now);
  void answered(const Answer& answer);
  double sent_by(Time at) const;
  Duration round_time() const;
  void compare(const Answer& answer);
  void end_round(Time now);
  void note_rate(double rate, Time now);
  static std::uint64_t to_bps(double rate) { return static_cast<std::uint64_t>(rate * 8e9); }

  static constexpr unsigned kMarks = 256;
  static constexpr unsigned kAnswers = 32;

  struct Times {
    Time sent_at = 0;
    Time at = 0;
  };
  Times newest_;  // answer
  Time due_at_ = 0;
  std::uint64_t received_ = 0;
  bool starting_ = true;
  bool limited_ = false;
  std::uint64_t room_bytes_ = 1 << 14;

  RttEstimator rtt_;
  Duration queued_ = 0;
  double rate_ = 0;  // bytes per nanosecond, the greatest of recent_
  std::array<double, 8> recent_{};
  std::size_t next_ = 0;
  std::uint64_t pace_bps_ = 0;

  Time seen_at_ = 0;  // when the link last carried rate_, or nearly
  Time lost_at_ = 0;
  unsigned phase_ = 0;  // of the pace
  Round round_;
  Time previous_began_ = 0;
  std::array<Mark, kMarks> marks_{};
  unsigned newest_mark_ = 0;
  std::array<Answer, kAnswers> answers_{};
  unsigned newest_answer_ = 0;
};

}  // namespace longhaul::custody
