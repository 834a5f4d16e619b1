// SPDX-License-Identifier: BSD-3-Clause
// The requester half of an RC queue pair (IBTA vol. 1, 9.7): sends what Work lists, keeps timers and retry counts,
// completes in order, ends in an error as real NICs do.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "sim/early_frames.hpp"
#include "sim/frames.hpp"
#include "sim/random.hpp"
#include "sim/rate_control.hpp"
#include "sim/retries.hpp"
#include "sim/work.hpp"
#include "wire/builder.hpp"

namespace longhaul::sim {

struct RequesterPlan {
  std::uint64_t luck = 0;       ///< seed for its timers
  std::uint32_t depth = 16;     ///< messages that may be incomplete at once
  std::uint32_t window = 64;    ///< packets that may be unacknowledged at once
  std::uint32_t burst = 8;      ///< packets sent in one go
  Duration pace = 0;            ///< between bursts
  std::uint32_t ack_habit = 0;  ///< AckReq on the last packet of each message; n: on every nth packet too; kAckLast
  std::uint32_t ack_each = 0;   ///< AckReq on each nth packet of a message, whatever the habit; 0: no
  bool selective = false;       ///< resends only what was asked for, not everything after it
  Duration ack_timeout = milliseconds(67);
  /// Adaptive retransmission: the first timeout since the last progress; each further one is twice as long, up to
  /// `ack_timeout`. Then not timeouts count but the time without progress. 0: each timeout is `ack_timeout`.
  Duration first_timeout = 0;
  std::uint32_t timeout_spread = 25;  ///< percent: a timeout takes up to this much longer
  std::uint8_t retry_count = 7;
  bool patient = true;  ///< retries do not count
  std::uint8_t rnr_retry = kEndlessRnrRetry;
  std::uint32_t initiator_depth = 4;
  RatePlan rate;            ///< congestion control
  bool tail_repeat = true;  ///< after part of a READ's answer, only the rest is requested
  /// Places responses out of order, and asks for what is missing after this time; 0: it asks at once.
  Duration places = 0;

  // For measurements: limits of a NIC and its application.
  std::uint32_t nic_depth = 0;   ///< of `depth`, messages that the NIC sends before it has an answer; 0: all
  std::uint32_t moderation = 1;  ///< the application hears of every nth completion and of the last
  Duration turnaround = 0;       ///< from the answer until the application can post
  Duration message_time = 0;     ///< minimum time between the starts of two messages
  std::uint32_t warm_up = 0;     ///< number of first messages that must be done before others are posted
  bool keeps_delays = false;     ///< for Requester::delays()
};

/// As few AckReq as possible: only where nothing else may be sent before an answer.
inline constexpr std::uint32_t kAckLast = 255;

/// How a work request completed, like ibv_wc_status.
enum class Status : std::uint8_t {
  success,
  retry_exceeded,
  rnr_retry_exceeded,
  remote_invalid_request,
  remote_access,
  remote_operation,
  flushed
};

class Requester {
 public:
  /// `frame` has addresses, P_Key and the responder's QPN set. `complain` is told of answers that no responder may
  /// give.
  using Complain = std::function<void(const std::string&)>;
  Requester(const RequesterPlan& plan, const Work& work, const wire::PacketBuilder& frame, Outlet& outlet,
            Complain complain);

  void start(Time now);
  /// kNever when it only waits for an answer.
  Time next_deadline() const;
  void poll(Time now);
  void receive(const View& view, Time now);
  /// A congestion notification came.
  void on_cnp(Time now) { rate_.on_cnp(now); }
  /// The QP went into error for another reason: everything left is flushed.
  void flush();

  bool started() const { return started_; }
  /// Everything is complete, with success or not.
  bool ended() const { return failed() || first_ == work_.messages().size(); }
  bool failed() const { return status_ != Status::success; }
  Status status() const { return status_; }
  std::uint32_t succeeded() const { return first_; }  ///< messages completed with success
  std::uint32_t unacknowledged() const { return una_; }
  std::uint32_t sent_top() const { return top_; }  ///< first position never sent
  Time first_sent() const { return first_sent_; }  ///< kNever before
  Time last_new_sent() const { return last_new_sent_; }
  /// From now on retries count.
  void lose_patience() { plan_.patient = false; }
  /// From the first packet after the warm-up until the application hears of the last completion.
  Time measured_from() const { return measured_from_; }
  Time measured_to() const { return heard_at_; }
  std::uint64_t resent() const { return resent_; }
  const RateControl& rate() const { return rate_; }
  /// From the first packet of each message until it was complete, in order; kept if the plan says so.
  const std::vector<Duration>& delays() const { return delays_; }

 private:
  bool may_send(std::uint32_t position, std::uint32_t assumed_top) const;
  void tell_application(Time now);
  void hear(Time now);
  std::uint32_t after(std::uint32_t position) const;
  void send_at(std::uint32_t position, Time now);
  bool wants_ack(const Message& message, std::uint32_t position) const;
  std::vector<std::uint8_t> packet(const Message& message, std::uint32_t position, bool ack_req) const;

  void on_ack(std::uint32_t position, const wire::Aeth& aeth, Time now);
  void on_nak(std::uint32_t position, const wire::Aeth& aeth, Time now);
  void on_response(std::uint32_t position, const View& view, Time now);
  void on_next_response(const Message& read, const View& view, Time now);
  void place_early(Time now);
  bool complete_before(std::uint32_t position, Time now);
  void progress(Time now);
  void response_lost(Time now);
  void go_back(std::uint32_t position, Time now);
  bool use_up_retry();
  bool use_up_timeout(Time now);
  Time timeout_from(Time now);
  void note_round_trip(Time now);
  void fail(Status status);
  void check_response(const Message& message, std::uint32_t position, const View& view) const;
  void learn_credits(const wire::Aeth& aeth);
  bool limited(const Message& message) const;
  std::uint32_t first_incomplete_read();

  RequesterPlan plan_;
  const Work& work_;
  wire::PacketBuilder frame_;
  Outlet& outlet_;
  Complain complain_;
  Random random_;
  RateControl rate_;

  bool started_ = false;
  Status status_ = Status::success;
  std::uint32_t first_ = 0;             ///< number of the oldest incomplete message
  std::uint32_t una_ = 0;               ///< first position not answered
  std::uint32_t next_ = 0;              ///< next position to send, again or for the first time
  std::uint32_t top_ = 0;               ///< first position never sent
  std::uint32_t read_ = 0;              ///< no message in [first_, read_) wants a response
  std::uint32_t response_next_ = 0;     ///< of the oldest incomplete READ: next response expected
  EarlyFrames early_;                   ///< responses by position
  std::uint32_t early_ack_ = 0;         ///< everything before this is acknowledged, but responses are missing
  std::optional<std::uint32_t> again_;  ///< selective: resend only this one
  bool started_retry_ = false;          ///< has gone back since the last progress (as rxe): further NAKs change nothing
  std::uint8_t retries_ = 0;
  std::uint8_t rnr_retries_ = 0;
  Time timer_ = kNever;
  std::uint8_t timeouts_ = 0;  ///< since the last progress, as far as they count for adaptive retransmission
  Time stuck_since_ = 0;       ///< the last progress, or the first packet after it
  struct Asked {
    std::uint32_t end;  ///< first position after a packet with AckReq...
    Time at;            ///< ...that was sent then, for the first time
  };
  std::deque<Asked> asked_;  ///< for congestion control by round trips
  Time hold_until_ = 0;      ///< RNR wait
  Time next_burst_ = 0;
  Time next_message_ = 0;
  Time first_sent_ = kNever;
  Time last_new_sent_ = 0;
  struct Completions {
    Time at;
    std::uint32_t messages;  ///< all before this one are complete
  };
  std::deque<Completions> on_their_way_;  ///< to the application
  std::uint32_t heard_ = 0;               ///< messages that the application knows are complete
  Time heard_at_ = 0;
  Time measured_from_ = kNever;
  bool credits_ = false;            ///< the responder gives credits
  std::uint32_t credit_limit_ = 0;  ///< SSN that may be sent (LSN), 9.7.7.2.2
  std::uint64_t resent_ = 0;
  std::vector<Time> begun_;  ///< when each message's first packet was sent first
  std::vector<Duration> delays_;
};

}  // namespace longhaul::sim
