// SPDX-License-Identifier: BSD-3-Clause
// Judges one flow's promises from the wire alone: what came from the requester, what the responder answered, and what
// the box says to the requester in the responder's name. It shares no code with lib/custody. If frames can be read in
// two ways, it takes the one that allows more.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "reference.hpp"

namespace longhaul::fuzz {

/// A PSN without wrap: positions only grow.
using Position = std::int64_t;

class FlowJudge {
 public:
  FlowJudge(std::uint32_t starting_psn, std::uint32_t path_mtu) : path_mtu_(path_mtu) {
    start_ = kOrigin + starting_psn;
    whole_ = sent_ = answered_ = start_;
  }

  /// A request with a good ICRC and good checksums came from the requester. `content` is what must arrive of it.
  void requested(const Roce& request, std::uint64_t content);
  /// A request left for the responder.
  void sent(const Roce& request);
  /// An answer with a good ICRC and good checksums came from the responder.
  void answered(const Roce& answer);
  /// The WAN port refuses frames at times, or the box absorbs them because it has failed the flow. So the requester's
  /// frames may look sent to the box.
  void all_may_look_sent() { all_may_look_sent_ = true; }
  /// The box dropped a request. Another request may come under its PSN.
  void forget_order() { ordered_ = false; }

  /// The box acknowledged everything up to `psn`, or for a NAK everything before it. Returns what is wrong with that,
  /// or empty.
  std::string_view promised(std::uint32_t psn, bool nak);
  /// Sets the number of messages completed up to and including `psn`. False if it is uncertain.
  bool messages_until(std::uint32_t psn, std::uint32_t& messages) const;

  /// Policy window: whether an ACK up to `psn` completes a message that the responder has not answered.
  bool completes_unanswered(std::uint32_t psn) const;

  bool was_answered() const { return any_answer_; }
  /// A real ACK has carried end-to-end credits.
  bool credits_seen() const { return credits_seen_; }
  /// The responder has sent an RNR NAK with this syndrome.
  bool rnr_seen(std::uint8_t syndrome) const { return (rnr_timers_ >> (syndrome & 0x1f) & 1) != 0; }
  /// The flow was not seen from its beginning, so nobody counted its messages.
  void midway() { any_answer_ = midway_ = true; }
  /// An answer came for a request that may or may not have left. So an honest responder's position is unknown.
  bool unsure() const { return unsure_ || lost_; }
  /// The flow is too far out on the circle of PSNs to be judged.
  bool lost() const { return lost_; }
  void lose() { lost_ = true; }

  // For an honest responder, which goes on where the answers so far end.
  Position position(std::uint32_t psn) const;
  Position answered_until() const { return answered_; }
  /// Messages that end before `at`, as far as requests came in order.
  std::uint32_t messages_before(Position at) const;
  Position promised_until() const { return promised_; }
  std::uint32_t span(const Roce& request) const;
  /// The `content` of the request that came for this position. 0 if different requests came, or none.
  std::uint64_t content_at(Position at) const;

 private:
  static constexpr Position kOrigin = Position{1} << 32;
  /// Wider than what the box takes as plausible.
  static constexpr Position kPlausible = Position{1} << 18;
  static constexpr Position kFar = Position{1} << 22;

  struct Message {
    Position end;  ///< the last position of the packet
    std::uint32_t completed;
  };
  struct Read {
    Position first;
    Position last;
  };

  bool plausible(Position at) const;
  void reach(Position until);

  std::uint32_t path_mtu_;
  Position start_;
  Position whole_;     ///< everything before it came from the requester or was answered
  Position sent_;      ///< the first position that never left
  Position answered_;  ///< the first position that the responder has not answered
  Position promised_ = 0;
  std::map<Position, Position> beyond_;  ///< from the requester, behind a hole: first to last
  std::vector<Read> reads_;              ///< READ and atomic requests without their last response
  std::vector<Message> messages_;
  std::map<Position, std::uint64_t> content_;
  std::uint32_t completed_ = 0;
  bool any_answer_ = false;
  bool credits_seen_ = false;
  std::uint32_t rnr_timers_ = 0;  ///< a bit for each
  bool midway_ = false;
  bool all_may_look_sent_ = false;
  bool ordered_ = true;  ///< for each position, the box has the request that came first
  bool unsure_ = false;
  bool lost_ = false;
};

}  // namespace longhaul::fuzz
