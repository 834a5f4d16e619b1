// SPDX-License-Identifier: BSD-3-Clause
// Everything about a flow that decides how its next packet is treated, but for PSNs, times and amounts: 16 bytes. They
// are one word. Two comparisons tell whether the flow is as nearly all flows are, and then the lane takes its packets
// (custody/lane.hpp). No copy of the word is kept, so it cannot be out of date.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "custody/phase.hpp"
#include "flow/policy.hpp"

namespace longhaul::custody {

/// Why the box says nothing to the requester in the responder's name: bits of Trust::silent.
enum Silence : std::uint8_t {
  /// The requester repeated a READ that is no longer in custody. The box acknowledges nothing past the READ (design
  /// rule 5) until the responder's ACK for it, or for a later PSN, has passed.
  kReadAgain = 1,
  kDoubted = 2,  ///< the QPs may have begun another life (identity.cpp)
  kShared = 4,   ///< another connection seems to use the requester's QPN, and its answers come here too
  /// The connection's REQ may be forged: the requester has not named the REP's IDs, and the responder has answered
  /// nothing. Or the flow has begun again or skipped requests, and the responder's QPN may have another requester now.
  kUnproven = 8,
  /// A request that is in custody and acknowledged came again. Either a pseudo-ACK was lost, or the request is another
  /// life's and those before it were lost. An ACK for later requests would cover those, so the responder answers first.
  kRepeated = 16,
};

/// What the responder's answers are worth. A flow whose answers disagreed, or did not come, is not acknowledged until
/// two have agreed.
enum class Standing : std::uint8_t {
  trusted,
  lost,      ///< an MSN disagreed, or no answers come
  answered,  ///< answers do come: custody may begin, to count messages
  learned,   ///< one answer has taught the MSN, and another must agree
};

/// Whether the box may speak for the responder by what it has counted of this flow.
struct Trust {
  Standing standing = Standing::trusted;
  bool msn_known = false;      ///< msn_base is known, so custody may be acknowledged
  bool was_confirmed = false;  ///< a real answer, or RDMA-CM, has confirmed the flow once
  std::uint8_t silent = 0;     ///< bits of Silence: nothing is acknowledged while it is not 0

  bool lost() const { return standing != Standing::trusted; }
};

/// The NAK that asks for the requests missing before one that has come: once per gap. `waits`: not yet, because what is
/// missing may just be late. While packets of the flow wait, it is not `none` (reorder.cpp).
enum class GapNak : std::uint8_t { none, waits, owed, sent };

/// What the box must tell the requester. A packet sets it, and acknowledge() acts on it at the end of the burst.
struct Owed {
  bool ack_again = false;  ///< the last ACK once more: the responder gave more credits in an answer that was absorbed
  bool ack = false;        ///< policy window: a packet before examined_end had AckReq
  GapNak gap_nak = GapNak::none;
  bool repair_nak = false;  ///< a PSN NAK for h: the responder has discarded packets that custody does not have
  bool fatal_nak = false;   ///< of a failed flow
};

/// After a timeout the box sends one packet of custody, and waits for its answer before it sends more.
enum class Probe : std::uint8_t { none, due, out };

/// How far a resend of custody is.
struct Resend {
  bool active = false;  ///< PacketQueue::unsent() has not reached ResendMarks::end yet
  Probe probe = Probe::none;
  std::uint8_t timeouts = 0;  ///< since the last progress, 255 at most

  bool probing() const { return probe != Probe::none; }
  /// The probe, if there is one, must be sent once more.
  void take_probe_back() {
    if (probe == Probe::out) probe = Probe::due;
  }
  /// Ends the resend and the probe.
  void stop() {
    active = false;
    probe = Probe::none;
  }
};

struct FlowState {
  CurrentPhase phase;
  flow::Policy policy = flow::Policy::off;
  Trust trust;
  Owed owed;
  bool credits_used = false;  ///< the last real ACK carried credits
  bool withheld = false;      ///< the packet at to_acknowledge was counted as withheld
  Resend resend;

  /// Confirmed, with policy full; the box may speak for the responder; nothing is owed, withheld or sent again; the
  /// responder gives no credits.
  [[gnu::always_inline]] bool is_usual() const;
};

namespace detail {

using StateWord = std::array<std::uint64_t, 2>;
static_assert(sizeof(FlowState) == sizeof(StateWord), "one byte for each part, and none between them");

inline constexpr StateWord kUsualState = [] {
  FlowState usual;
  static_cast<void>(usual.phase.move(PhaseEvent::cm_vouched));
  usual.policy = flow::Policy::full;
  usual.trust.msn_known = usual.trust.was_confirmed = true;
  return std::bit_cast<StateWord>(usual);
}();

}  // namespace detail

inline bool FlowState::is_usual() const {
  const auto word = std::bit_cast<detail::StateWord>(*this);
  return ((word[0] ^ detail::kUsualState[0]) | (word[1] ^ detail::kUsualState[1])) == 0;
}

}  // namespace longhaul::custody
