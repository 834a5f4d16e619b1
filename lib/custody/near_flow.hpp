// SPDX-License-Identifier: BSD-3-Clause
// The state of one accelerated flow in its near box: the requests of one host towards one responder QP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/side.hpp"
#include "base/time.hpp"
#include "custody/ack_template.hpp"
#include "custody/loss_window.hpp"
#include "custody/observer.hpp"
#include "custody/packet_queue.hpp"
#include "custody/phase.hpp"
#include "custody/recent_requests.hpp"
#include "custody/rtt.hpp"
#include "custody/window.hpp"
#include "flow/connection_table.hpp"
#include "flow/policy.hpp"
#include "wire/headers.hpp"

namespace longhaul::custody {

class RecordSlot;

/// Why nothing is said to the requester in the responder's name: bits of Trust::silent.
enum Silence : std::uint8_t {
  /// A READ that is no longer in custody was asked for again: nothing is acknowledged past it (design rule 5) until an
  /// ACK of the responder from there on has passed.
  kReadAgain = 1,
  kDoubted = 2,  ///< the QPs may have begun another life (identity.cpp)
  kShared = 4,   ///< another connection seems to use the requester's QPN: its answers come here too
  /// Its REQ may be forged: its requester has not named the REP's IDs, its responder answered nothing. Or it has begun
  /// again, or left out requests, and its responder's QPN may have another requester now.
  kUnproven = 8,
  /// What custody holds and the requester was told came again. A pseudo-ACK was lost, or another life's requests before
  /// it were, which an ACK for what follows would cover: the responder answers first.
  kRepeated = 16,
};

/// Whether what the box has counted of this flow may be said in the responder's name.
struct Trust {
  bool lost = false;           ///< for good: an MSN disagreed, or no answers come; nothing more is acknowledged
  bool msn_known = false;      ///< msn_base is: what is in custody may be acknowledged
  bool was_confirmed = false;  ///< a real answer, or RDMA-CM, has confirmed the flow once
  std::uint8_t silent = 0;     ///< bits of Silence: nothing is acknowledged while it is not 0
};

/// The NAK for requests that are missing before one that was dropped: once per gap.
enum class GapNak : std::uint8_t { none, owed, sent };

/// What the requester is to be told. A packet sets it, and acknowledge() acts on it at the end of the burst.
struct Owed {
  bool ack_again = false;  ///< the last ACK once more: the responder gave more credits in an answer that was absorbed
  bool ack = false;        ///< policy window: a packet before examined_end had AckReq
  GapNak gap_nak = GapNak::none;
  bool repair_nak = false;  ///< a PSN NAK for h: the responder has discarded what custody does not have
  bool fatal_nak = false;   ///< of a failed flow
};

/// After a timeout the box sends one packet of custody, and waits for its answer before it sends more.
enum class Probe : std::uint8_t { none, due, out };

/// How far the box is with sending custody again.
struct Resend {
  bool active = false;  ///< PacketQueue::unsent() has not reached ResendMarks::end yet
  Probe probe = Probe::none;
  std::uint8_t timeouts = 0;  ///< since the last progress, 255 at most

  bool probing() const { return probe != Probe::none; }
  /// The probe is to be sent once more, if there is one.
  void take_probe_back() {
    if (probe == Probe::out) probe = Probe::due;
  }
  /// Nothing is sent again any more.
  void stop() {
    active = false;
    probe = Probe::none;
  }
};

/// Where the last resend and the last probe were. PSNs.
struct ResendMarks {
  std::uint32_t end = 0;         ///< first one after the packets that are being sent again
  std::uint32_t rewound_to = 0;  ///< of the last rewind
  Time rewound_at = 0;           ///< and when that was; 0: never
  std::uint32_t probe_end = 0;   ///< first one after the probe
  std::uint32_t resume_psn = 0;  ///< where sending stood before the probe
  bool probe_settled = false;    ///< the last probe's answer came too early to be its own, and nothing followed it
};

/// What the requester of a failed flow is told, and why.
struct Failure {
  std::uint32_t psn = 0;  ///< of the fatal NAK: what its requester has not seen acknowledged
  wire::NakCode code = wire::NakCode::remote_operational_error;
  std::uint8_t told = 0;         ///< fatal NAKs that were made, 255 at most
  bool from_record = false;      ///< an earlier process failed the flow, and sent_top is not known
  bool refused = false;          ///< by a fatal NAK: the responder is in error
  std::uint64_t lost_bytes = 0;  ///< acknowledged and not delivered

  /// Frames are rarely lost between box and host, so three fatal NAKs are sure to have ended the requester. Requests
  /// that still arrive come from another one.
  bool told_enough() const { return told >= 3; }
};

/// Laid out by cache lines: a request touches kRequestBytes of it, an answer kAnswerBytes, and the rest is for what is
/// rare. With tens of thousands of flows each line is one from memory.
struct alignas(64) NearFlow {
  // ---- line 0: where the flow stands
  // PSNs. una <= h always; custody holds [una, tail) but while rejoining, when it begins later.
  std::uint32_t una = 0;       ///< first PSN the responder has not answered
  std::uint32_t h = 0;         ///< first PSN that nobody, neither box nor responder, has acknowledged to the requester
  std::uint32_t tail = 0;      ///< first PSN after custody: the next one to take
  std::uint32_t sent_top = 0;  ///< first PSN never forwarded, with custody or without; once failed: never seen
  // MSNs. What Held and these two count begins at zero where custody began; plus msn_base it is the responder's.
  std::uint32_t msn_base = 0;
  std::uint32_t msn_tail = 0;      ///< messages completed before tail
  std::uint32_t msn_released = 0;  ///< messages completed before una
  std::uint32_t msn_h = 0;         ///< the responder's MSN of an ACK for h - 1
  std::uint32_t path_mtu = 0;      ///< bytes
  std::uint32_t late_end = 0;      ///< packets before it were held back by design: their pseudo-ACKs measure no delay
  std::uint32_t examined_end = 0;  ///< policy window: first PSN after those that may be acknowledged; never before h
  flow::ConnectionIndex connection = 0;  ///< by which the Outlet knows the flow

  CurrentPhase phase;
  flow::Policy policy = flow::Policy::off;
  Trust trust;
  Owed owed;
  bool credits_used = false;  ///< the last real ACK carried credits
  bool withheld = false;      ///< the packet at to_acknowledge was counted as withheld
  Resend resend;

  // ---- lines 1 and 2: custody
  PacketQueue queue;
  std::uint64_t bytes_taken = 0;     ///< frame bytes ever taken into custody
  std::uint64_t bytes_answered = 0;  ///< of those, answered by the responder
  std::uint64_t bytes_promised =
      0;                         ///< of bytes_taken, acknowledged by the box; less than bytes_answered after real ACKs
  RecordSlot* record = nullptr;  ///< what a restart must know of this flow; null: nothing is written down
  Time unanswered_since = 0;     ///< when the oldest unanswered packet became that: the last progress
  Time hold_until = 0;           ///< RNR: nothing is sent before
  Time deadline = kNever;        ///< when on_timer() has something to do
  LossWindow loss_window;

  // ---- lines 3 and 4: what is said to the requester (with IPv6 or VLAN tags, 5 too)
  AckTemplate ack;

  // ---- what only answers move
  alignas(64) RttEstimator rtt;
  UnansweredWindow window;
  Time answered_at = 0;         ///< when an answer last moved una, or confirmed the flow; 0: none has
  std::uint32_t behind_at = 0;  ///< of `behind`: first PSN that the requester had not used then
  bool behind = false;          ///< it asked again for what the box has acknowledged (NearPart::is_behind())

  // ---- what is rare
  FlowIdentity identity;
  Duration give_up = 0;
  Time read_stall_since = 0;  ///< requests wait behind an unfinished READ or atomic to be acknowledged; 0: none do
  flow::Policy next_policy = flow::Policy::off;  ///< what rejoining will make `policy`
  bool misplaced_event = false;                  ///< one came that its phase does not know (inconsistency() says so)
  std::uint32_t read_next = 0;                   ///< next response expected of the oldest READ in custody

  // End-to-end credits (IBTA vol. 1, 9.7.7.2). Receives are counted as messages are: from where custody began.
  std::uint64_t receive_limit = 0;      ///< receives that the responder has announced
  std::uint64_t receives_released = 0;  ///< receives used up by messages before una
  std::uint64_t receives_examined = 0;  ///< by messages before queue.to_acknowledge()

  ResendMarks resend_marks;
  Failure failure;  ///< once it has failed

  Duration confirm_again = 0;  ///< idle for longer, the flow is confirmed by an answer again
  // Of a doubt (identity.cpp).
  Time asked_at = 0;                        ///< when custody last took a request before it, a gap, or the failure
  Time contradicted_at = 0;                 ///< when an answer first did not continue custody's life; 0: none did
  std::uint32_t doubt_number = 0;           ///< of the last sign of another life; 0: there was none
  std::uint32_t newcomer_next = 0;          ///< first PSN after those that the responder of a newcomer has answered,
  Time newcomer_answered = 0;               ///< and when it last said so; 0: never
  RecentRequests newcomer;                  ///< since the doubt began: requests that may be another life's
  std::uint32_t gap_top = 0;                ///< first PSN after the packets dropped beyond a gap
  std::optional<std::uint32_t> unseen_end;  ///< first PSN after requests that were answered and not seen here

  std::uint32_t first_psn = 0;        ///< where the flow began: while una is there, the responder has answered nothing
  std::uint32_t read_again_last = 0;  ///< PSN of the last response of the READ that was asked for again
  Time repeated_at = 0;               ///< when the requester last asked for what was acknowledged
  std::uint64_t examined_bytes = 0;   ///< bytes_taken up to there

  /// The one way from phase to phase.
  void move(PhaseEvent event) {
    if (!phase.move(event)) [[unlikely]]
      misplaced_event = true;
  }

  bool doubted() const { return (trust.silent & kDoubted) != 0; }
  /// The requests that name its responder may be another connection's.
  bool contested() const { return (trust.silent & (kDoubted | kUnproven)) != 0; }
  bool shared() const { return (trust.silent & kShared) != 0; }

  /// Bytes acknowledged and not delivered start here: packets in [una, h) are the box's responsibility.
  bool owes() const { return !queue.empty() && una != h; }
  /// Frame bytes acknowledged and not answered, as of the last pseudo-ACK. Does not walk custody.
  std::uint64_t unconfirmed_bytes() const {
    return owes() && bytes_promised > bytes_answered ? bytes_promised - bytes_answered : 0;
  }

  static constexpr std::size_t kRequestBytes = 5 * 64;
  static constexpr std::size_t kAnswerBytes = 8 * 64;
};
static_assert(offsetof(NearFlow, queue) == 64 && offsetof(NearFlow, ack) == 3 * 64,
              "what requests touch is in as many cache lines as it fits in");
static_assert(offsetof(NearFlow, rtt) == 6 * 64 && offsetof(NearFlow, identity) <= NearFlow::kAnswerBytes);

}  // namespace longhaul::custody
