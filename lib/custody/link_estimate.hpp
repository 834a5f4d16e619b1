// SPDX-License-Identifier: BSD-3-Clause
// What the long link carries, told by what a worker sends and when the answers come: its rate, its own delay, and how
// long frames wait in its queue. BBR is the example (Cardwell et al., ACM Queue 14-5, 2016); here all flows of a worker
// are taken together.
//
// Delay. The least round trip of the last 10 to 20 seconds is the link's own. What an answer takes longer is queueing.
//
// Rate. A packet that came to the queue before another had left it was carried right behind it. So what was sent from
// the one to the other, divided by the time between their two answers, is the rate of the link. Nothing else is known
// of the responder or of other traffic, and answers for whole messages do no harm. Answers that were held up somewhere
// and come at once make it too high: it is not more than what was sent in a whole round. What was lost in between makes
// the rate too high: in rounds with losses no rate is believed that is greater than before. (A round lasts a round
// trip, 1 ms at least.) A link that stood still for a moment makes it too low: the greatest of the last eight rounds
// counts. Two things look like a full link and are not. A slow responder delays the answers of its own flows: a round
// counts only when its least delayed answer was delayed. A full way back delays all answers: the link is taken to carry
// at least as much as comes from there.
//
// Pace. One round a quarter faster than the rate, to see whether the link has become faster; one a quarter slower, to
// empty the queue that this made; six at the rate. While a queue stands, a quarter slower. A rate that nothing has come
// near to for 10 seconds is forgotten: then all goes as fast as it comes until there is a queue again.
//
// Start. Until the link was full once, nothing is acknowledged early while custody has more than `room` in all: about
// what TCP begins with (RFC 6928), and twice as much after each round that was limited by it and lost nothing. Where
// the pace is configured there is no such limit.
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
  /// When look() is to be called next: at the end of the first burst then.
  Time due_at() const { return due_at_; }
  /// `sent` and `received`: frame bytes so far that were sent to the link, resends included, and that came from it.
  [[gnu::cold]] void look(std::uint64_t sent, std::uint64_t received, Time now);
  /// The link has lost something, or so it seems.
  void on_loss(Time now) { lost_at_ = now; }

  /// Of all flows together.
  const RttEstimator& rtt() const { return rtt_; }
  /// Bits per second of frames, without preamble, gap and FCS; 0: the link was not full lately.
  std::uint64_t rate_bps() const { return to_bps(rate_); }
  /// How fast to send, in the same unit; 0: as fast as it comes.
  std::uint64_t pace_bps() const { return pace_bps_; }
  /// The queueing delay of the least delayed answer of the last round.
  Duration queued() const { return queued_; }

  /// The link has not been full yet: room_bytes() is a limit.
  bool starting() const { return starting_; }
  /// As much as custody may have in all while pseudo-ACKs go out.
  std::uint64_t room_bytes() const { return room_bytes_; }
  /// A pseudo-ACK had to wait since custody had more than room_bytes().
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
    // Bytes per nanosecond between answers of packets that were carried one behind the other.
    double longest = 0;     // that with the most bytes between
    double longest_of = 0;  // how many bytes
    double least = 0;
    double carried = 0;  // since a round ago, whether there was a queue or not
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

  Time seen_at_ = 0;  // the link carried rate_, or nearly
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
