// SPDX-License-Identifier: BSD-3-Clause
// The state of one accelerated flow in its near box: the requests of one host towards one responder QP.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/plain_cause.hpp"
#include "base/side.hpp"
#include "base/time.hpp"
#include "custody/ack_template.hpp"
#include "custody/ahead_runs.hpp"
#include "custody/budget.hpp"
#include "custody/congestion.hpp"
#include "custody/flow_state.hpp"
#include "custody/loss_window.hpp"
#include "custody/observer.hpp"
#include "custody/packet_queue.hpp"
#include "custody/pairing.hpp"
#include "custody/recent_least.hpp"
#include "custody/recent_requests.hpp"
#include "custody/rtt.hpp"
#include "custody/trickle.hpp"
#include "custody/waiting_packets.hpp"
#include "custody/window.hpp"
#include "flow/connection_table.hpp"
#include "flow/policy.hpp"
#include "wire/headers.hpp"

namespace longhaul::custody {

class RecordSlot;

/// Where the last resend and the last probe were. PSNs.
struct ResendMarks {
  std::uint32_t end = 0;         ///< first PSN after the packets of the resend
  std::uint32_t rewound_to = 0;  ///< of the last rewind
  Time rewound_at = 0;           ///< and when that was; 0: never
  std::uint32_t probe_end = 0;   ///< first PSN after the probe
  std::uint32_t resume_psn = 0;  ///< where sending stood before the probe
};

/// What the requester of a failed flow is told, and why.
struct Failure {
  std::uint32_t psn = 0;  ///< of the fatal NAK: the first that the requester has not seen acknowledged
  wire::NakCode code = wire::NakCode::remote_operational_error;
  std::uint8_t told = 0;         ///< fatal NAKs that were made, 255 at most
  bool from_record = false;      ///< an earlier process failed the flow, and sent_top is not known
  bool refused = false;          ///< the responder sent a fatal NAK: it is in error
  std::uint64_t lost_bytes = 0;  ///< acknowledged and not delivered

  /// Frames are rarely lost between box and host, so after three fatal NAKs the requester has ended. Requests that
  /// still arrive come from another requester.
  bool told_enough() const { return told >= 3; }
};

/// Laid out by cache lines: a request touches the first kRequestBytes, an answer the first kAnswerBytes, and the rest
/// is rarely used. With tens of thousands of flows, each line comes from memory.
struct alignas(64) NearFlow : FlowState {
  // ---- line 0: where the flow stands, behind its FlowState
  // PSNs. una <= h always. Custody holds [una, tail); while rejoining it begins later.
  std::uint32_t una = 0;       ///< first PSN the responder has not answered
  std::uint32_t h = 0;         ///< first PSN that nobody, neither box nor responder, has acknowledged to the requester
  std::uint32_t tail = 0;      ///< first PSN after custody: the next one to take
  std::uint32_t sent_top = 0;  ///< first PSN never forwarded, with custody or without; once failed: never seen
  // MSNs. Held, msn_tail and msn_released count from zero where custody began. Add msn_base for the responder's MSN.
  std::uint32_t msn_base = 0;
  std::uint32_t msn_tail = 0;      ///< messages completed before tail
  std::uint32_t msn_released = 0;  ///< messages completed before una
  std::uint32_t msn_h = 0;         ///< the responder's MSN of an ACK for h - 1
  std::uint32_t path_mtu = 0;      ///< bytes
  std::uint32_t late_end = 0;      ///< packets before it were held back by design: their pseudo-ACKs measure no delay
  std::uint32_t examined_end = 0;  ///< policy window: first PSN after those that may be acknowledged; never before h
  flow::ConnectionIndex connection = 0;  ///< how the Outlet knows the flow

  // ---- lines 1 and 2: custody
  PacketQueue queue;
  std::uint64_t bytes_taken = 0;     ///< frame bytes ever taken into custody
  std::uint64_t bytes_answered = 0;  ///< of those, answered by the responder
  std::uint64_t bytes_promised =
      0;                         ///< of bytes_taken, acknowledged by the box; less than bytes_answered after real ACKs
  RecordSlot* record = nullptr;  ///< what a restart must know of this flow; null: nothing is recorded
  Time unanswered_since = 0;     ///< when the oldest unanswered packet became the oldest: the last progress
  Time hold_until = 0;           ///< RNR: nothing is sent before this time
  Time deadline = kNever;        ///< when on_timer() has something to do
  LossWindow loss_window;

  // ---- lines 3 and 4: what the box says to the requester (with IPv6 or VLAN tags, 5 too)
  Holding* holding = nullptr;  ///< of the flow's pair of hosts
  AckTemplate ack;

  // ---- what only answers change
  alignas(64) RttEstimator rtt;
  UnansweredWindow window;
  Time answered_at = 0;         ///< when an answer last moved una, or confirmed the flow; 0: none has
  std::uint32_t behind_at = 0;  ///< of `behind`: first PSN that the requester had not used then
  bool gap_reported : 1 =
      false;  ///< the peer has missed packets: those sent until pairing.gap_at measure no round trip
  bool answers_wait_long : 1 = false;  ///< those that wait do so for a peer: a queue pair can be created meanwhile
  bool behind : 1 = false;             ///< the requester repeated what the box has acknowledged (NearPart::is_behind())
  // Rarely used; they fill the line.
  flow::Policy next_policy = flow::Policy::off;  ///< `policy` from the next rejoining on
  bool misplaced_event : 1 = false;  ///< an event came that the phase does not allow (inconsistency() says so)
  bool probe_settled : 1 = false;  ///< an answer too early to be the last probe's ended its wait, and none has followed
  bool owes_rnr_nak : 1 = false;   ///< an RNR NAK of the responder was absorbed in this burst
  std::uint8_t rnr_timer : 5 = 0;  ///< and its timer's code
  std::uint8_t vain_naks = 0;      ///< PSN NAKs since the last progress, as far as they count

  // ---- rarely used
  FlowIdentity identity;
  Duration give_up = 0;
  Time read_stall_since = 0;  ///< requests wait behind an unfinished READ or atomic to be acknowledged; 0: none do
  Time unasked_since = 0;     ///< an untold message may be acknowledged, and nobody has asked; 0: there is none
  // Of the oldest READ or atomic in custody. An ACK beyond it tells the requester that the response is lost.
  std::uint32_t read_next = 0;      ///< PSN of its next response
  std::uint32_t passed_end = 0;     ///< of `passed_at`: first PSN after the newest such ACK
  std::uint32_t read_gap = kNoPsn;  ///< read_next when answers that had waited for it went on without it
  Time passed_at = 0;  ///< when the first such ACK came; 0: none did, or the requester has repeated a READ since

  // End-to-end credits (IBTA vol. 1, 9.7.7.2). Receives are counted as messages are: from where custody began.
  std::uint64_t receive_limit = 0;      ///< receives that the responder has announced
  std::uint64_t receives_released = 0;  ///< receives used up by messages before una
  std::uint64_t receives_examined = 0;  ///< by messages before queue.to_acknowledge()

  ResendMarks resend_marks;
  Trickle trickle;
  Duration ack_timeout = 0;  ///< the requester's, as RDMA-CM announced it; 0: not known
  AheadRuns ahead;           ///< responses from read_next on that went to the requester before one that was missing
  Failure failure;           ///< once the flow has failed

  Pairing pairing;

  Duration confirm_again = 0;  ///< after a longer idle time an answer must confirm the flow again
  // Of a doubt (identity.cpp).
  Time asked_at = 0;                  ///< when custody last took a request before the doubt, a gap or the failure
  Time contradicted_at = 0;           ///< when an answer first contradicted custody's life; 0: none did
  Time answered_below = 0;            ///< when one of the newcomer's requests below una was last answered; 0: none was
  std::uint32_t doubt_number = 0;     ///< of the last sign of another life; 0: there was none
  std::uint32_t newcomer_next = 0;    ///< first PSN that a newcomer's responder has not answered,
  Time newcomer_answered = 0;         ///< and when it last said so; 0: never
  RecentRequests newcomer;            ///< since the doubt began: requests that may be another life's
  std::uint32_t continued_to = 0;     ///< first PSN that nothing without a gap behind custody has come to
  std::uint32_t gap_top = 0;          ///< first PSN after the packets dropped beyond a gap
  std::uint32_t unseen_end = kNoPsn;  ///< first PSN after answered requests that did not pass here
  std::uint32_t learned_msn = 0;      ///< of Standing::learned: the MSN that the first answer taught

  WaitingList waiting{WaitingKind::request};  ///< those that came before their turn (reorder.cpp)
  // Answers that did (reorder_answers.cpp).
  WaitingList early_responses{WaitingKind::response};
  WaitingList early_acknowledges{WaitingKind::acknowledge};
  Time answers_follow_at = kNever;    ///< when more of them go on: a call lets only some; kNever: none can
  RecentLeast answer_time;            ///< from a request's first copy to its answer, where `rtt` has no sample
  std::uint8_t disagreements = 0;     ///< MSNs that disagreed, as far as they count
  std::uint32_t first_psn = 0;        ///< where the flow began: while una is there, the responder has answered nothing
  std::uint32_t refused = 0;          ///< requests that custody had no room for
  std::uint32_t read_again_last = 0;  ///< PSN of the last response to the READ that was repeated
  Time repeated_at = 0;               ///< when the requester last repeated what was acknowledged
  std::uint64_t examined_bytes = 0;   ///< bytes_taken up to examined_end

  CnpControl cnp;

  // Only requests that pass plain touch these.
  PlainCause plain_why = PlainCause::catching_up;  ///< why the flow is plain, where a request decided it
  ByPlainCause<std::uint32_t> plain{};             ///< SENDs and WRITEs with AckReq that passed, by cause

  /// The only way to change the phase.
  void move(PhaseEvent event) {
    if (!phase.move(event)) [[unlikely]]
      misplaced_event = true;
  }

  bool doubted() const { return (trust.silent & kDoubted) != 0; }
  /// Requests that name the flow's responder may be another connection's.
  bool contested() const { return (trust.silent & (kDoubted | kUnproven)) != 0; }
  bool shared() const { return (trust.silent & kShared) != 0; }

  /// Packets in [una, h) are acknowledged and not answered: the box is responsible for them.
  bool owes() const { return !queue.empty() && una != h; }
  /// Frame bytes acknowledged and not answered, as of the last pseudo-ACK. Does not walk custody.
  std::uint64_t unconfirmed_bytes() const {
    return owes() && bytes_promised > bytes_answered ? bytes_promised - bytes_answered : 0;
  }

  static constexpr std::uint32_t kNoPsn = ~std::uint32_t{0};  ///< no PSN has more than 24 bits
  static constexpr std::size_t kRequestBytes = 5 * 64;
  static constexpr std::size_t kAnswerBytes = 8 * 64;
};
// All compilers that longhaul is built with support it for classes without virtual bases.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(NearFlow, queue) == 64 && offsetof(NearFlow, holding) == 3 * 64,
              "what requests touch is in as many cache lines as it fits in");
static_assert(offsetof(NearFlow, rtt) == 6 * 64 && offsetof(NearFlow, identity) <= NearFlow::kAnswerBytes);
#pragma GCC diagnostic pop

}  // namespace longhaul::custody
