// SPDX-License-Identifier: BSD-3-Clause
// What the box says to the requester in the responder's name.
#include <algorithm>
#include <utility>

#include "custody/lane.hpp"
#include "custody/near_part.hpp"
#include "wire/credits.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_diff;
using wire::psn_lt;

namespace {

// Policy window acknowledges within a message after this many packets at the latest.
constexpr std::int32_t kPacketsUnasked = 64;

}  // namespace

std::uint64_t NearPart::window_of(const NearFlow& flow, Time now) const {
  std::uint64_t window = flow.window.bytes(settings_.initial_window_bytes, now);
  // What the far box holds back for a repair is unanswered for a round trip more.
  constexpr std::uint64_t kPart = 11;
  if (flow.pairing.bound) window += window / kPart;
  return std::min(window, budget_.flow_bytes_limit);
}

void NearPart::acknowledge(NearFlow& flow, Time now) {
  if (settings_.lane && flow.is_usual() && !draining_) [[likely]] {
    lane_acknowledge(flow, now);
    if (flow.queue.to_acknowledge() == nullptr) return;  // a usual flow is owed nothing else
  }
  if (flow.phase == Phase::failed) {
    if (flow.owed.fatal_nak && !flow.doubted() &&
        send_made(flow, flow.failure.psn, flow.msn_h, wire::nak_syndrome(flow.failure.code), Counter::fatal_naks) &&
        flow.failure.told < 255)
      ++flow.failure.told;
    flow.owed.fatal_nak = false;
    flow.failure.psn = flow.h;
    return;
  }
  // What was owed earlier in this burst would acknowledge data that has just been counted as unconfirmed.
  if (flow.phase == Phase::ended) {
    flow.owed = Owed{};
    return;
  }

  if (may_acknowledge(flow)) {
    examine(flow, now);
    if (flow.policy == flow::Policy::window) acknowledge_within_message(flow, now);
    if (flow.owed.gap_nak == GapNak::owed && flow.phase == Phase::confirmed && flow.queue.to_acknowledge() == nullptr &&
        may_ask_for(flow, flow.tail, now))
      nak_gap(flow);
  } else {
    if (draining_) leave_unpromised(flow);
    flow.late_end = flow.tail;
  }

  if (flow.owes_rnr_nak) tell_not_ready(flow, now);
  // Until custody has sent everything, the requester's repeats would overtake it and be discarded.
  if (flow.owed.repair_nak && flow.trust.silent == 0 && flow.queue.unsent() == nullptr) {
    flow.owed.repair_nak = false;
    if (psn_lt(flow.h, flow.sent_top) && may_ask_for(flow, flow.h, now))  // all may be answered by now
      send_made(flow, flow.h, flow.msn_h, wire::nak_syndrome(wire::NakCode::psn_sequence_error), Counter::repair_naks);
  }
  // With custody empty, the ACK repeats what the responder itself has just said.
  if (std::exchange(flow.owed.ack_again, false) && flow.trust.silent == 0 &&
      (flow.queue.empty() || !may_have_left(flow, now)))
    send_made(flow, psn_add(flow.h, -1), flow.msn_h, ack_syndrome(flow), Counter::pseudo_acks_repeated);
  // A usual flow of which nothing waits has returned above: the lane and the general path tell requesters the same.
  if (settings_.cnp.send && (flow.queue.to_acknowledge() != nullptr || flow.phase == Phase::plain))
    notify_congestion(flow, now);
}

// Nobody was told that these packets arrived, and they have left: their requester repeats them if need be. So nobody
// has to wait for their answers before the box stops, and custody that others are promised goes first.
bool NearPart::leave_unpromised(NearFlow& flow) {
  if (flow.queue.empty() || flow.owes() || flow.queue.unsent() != nullptr || is_over(flow.phase)) return false;
  let_go(flow);
  return true;
}

bool NearPart::may_acknowledge(const NearFlow& flow) const {
  return (flow.phase == Phase::confirmed || flow.phase == Phase::plain) && !flow.trust.lost() && !draining_ &&
         flow.trust.msn_known && flow.trust.silent == 0;
}

// The requester may be with another connection by now, one that has begun since custody last took a request, and would
// believe the box. A new request in this burst shows that it is still here; an answer, a timer or a port does not. With
// policy off nothing would show such a connection.
bool NearPart::may_have_left(const NearFlow& flow, Time now) const {
  const Time asked = std::max(last_taken(flow), flow.asked_at);
  if (asked == now) return false;
  return flow.next_policy == flow::Policy::off || outlet_.may_listen_elsewhere(flow, psn_add(flow.una, -1), asked);
}

// Walks custody as far as it may be acknowledged.
void NearPart::examine(NearFlow& flow, Time now) {
  rte_mbuf* mbuf = flow.queue.to_acknowledge();
  if (mbuf == nullptr) return;
  if (held_in(mbuf).received_at != now && !held_in(mbuf).wants_response && may_have_left(flow, now)) [[unlikely]]
    return;
  const std::uint32_t most = held_in(mbuf).number + kExaminedAtOnce;
  for (; mbuf != nullptr; mbuf = flow.queue.to_acknowledge()) {
    const Held& held = held_in(mbuf);
    if (!held.sent) break;
    if (held.number == most) [[unlikely]] {
      flow.deadline = std::min(flow.deadline, now);  // other flows have their turn first
      break;
    }
    if (held.wants_response || is_withheld(flow, held, now)) {
      flow.late_end = flow.tail;
      if (held.wants_response) note_read_stall(flow, now);
      break;
    }
    // An ACK for a message's end, or for anything behind it, would complete the message.
    if (flow.policy == flow::Policy::window && held.msn != flow.msn_released) break;
    if (held.takes_receive) ++flow.receives_examined;
    if (flow.policy == flow::Policy::window) {
      flow.examined_end = psn_add(held.last_psn, 1);
      flow.examined_bytes = held.end_bytes;
      flow.owed.ack = flow.owed.ack || held.ack_req;
    } else if (held.ack_req) {
      const Time cause = psn_lt(held.psn, flow.late_end) ? kNever : held.received_at;
      if (!pseudo_ack(flow, held.last_psn, held.msn, held.end_bytes, cause, now)) [[unlikely]] {
        if (held.takes_receive) --flow.receives_examined;
        break;
      }
    } else if (completes_untold(flow, held)) {
      note_untold(flow, now);
    }
    flow.queue.mark_examined();
  }
}

// The newest request waits behind a READ or atomic that has not been answered. (Another READ would not be acknowledged
// by the box anyway.)
void NearPart::note_read_stall(NearFlow& flow, Time now) {
  if (flow.read_stall_since == 0 && !held_in(flow.queue.newest()).wants_response) {
    flow.read_stall_since = now;
    ++counters_[Counter::read_stalls];
  }
}

void NearPart::end_read_stall(NearFlow& flow, Time now) {
  counters_[Counter::read_stall_ns] += now - std::exchange(flow.read_stall_since, 0);
}

// The packet waits for a real answer: too many bytes are unanswered, or the responder's receives are used up.
bool NearPart::is_withheld(NearFlow& flow, const Held& held, Time now) {
  const std::uint64_t unanswered = held.end_bytes - flow.bytes_answered;
  const bool beyond_window = unanswered > least_window_ && is_beyond_window(flow, held.end_bytes, now);
  const bool no_receive = flow.credits_used && held.takes_receive && flow.receives_examined + 1 >= flow.receive_limit;
  if (beyond_window) flow.window.on_limited();
  const bool withheld = beyond_window || no_receive || (flow.pairing.bound && is_nearly_full(flow));
  if (withheld && !flow.withheld) ++counters_[Counter::pseudo_acks_withheld];
  return flow.withheld = withheld;
}

// A peer mends losses as long as custody has what was lost. So a full custody makes the requester wait before it makes
// packets pass without custody.
bool NearPart::is_nearly_full(const NearFlow& flow) const {
  constexpr std::uint64_t kAll = 8;
  constexpr std::uint64_t kPart = 7;
  return bytes_of(flow) > budget_.flow_bytes_limit / kAll * kPart || budget_.held.bytes > budget_.undivided_bytes ||
         budget_.held.large_mbufs > budget_.undivided_large_mbufs;
}

// Beyond the flow's window or, at the link's start, beyond the limit of all flows.
bool NearPart::is_beyond_window(const NearFlow& flow, std::uint64_t end_bytes, Time now) {
  if (link_.starting() && budget_.held.bytes > link_.room_bytes()) {
    link_.on_limited();
    return true;
  }
  return end_bytes - flow.bytes_answered > window_of(flow, now) && end_bytes > flow.trickle.end;
}

// When the next packet may be acknowledged although the window is used up (trickle.hpp).
Time NearPart::trickle_due(const NearFlow& flow) {
  if (!flow.withheld || flow.resend.timeouts < Trickle::kTimeouts) return kNever;
  return flow.trickle.at + Trickle::interval_of(flow.ack_timeout);
}

// Up to the next packet that asks for an ACK.
void NearPart::extend_trickle(NearFlow& flow, Time now) {
  flow.trickle.at = now;
  const rte_mbuf* mbuf = flow.queue.to_acknowledge();
  for (unsigned i = 0; mbuf != nullptr && held_in(mbuf).sent && i < kExaminedAtOnce; ++i) {
    flow.trickle.end = held_in(mbuf).end_bytes;
    if (held_in(mbuf).ack_req) return;
    mbuf = held_in(mbuf).next;
  }
}

bool NearPart::pseudo_ack(NearFlow& flow, std::uint32_t psn, std::uint32_t msn, std::uint64_t bytes, Time cause,
                          Time now) {
  if (!make_pseudo_ack(flow, psn, msn, bytes, ack_syndrome(flow), cause, now)) return false;
  flow.owed.ack_again = false;  // this ACK says more
  return true;
}

// Policy window acknowledges without AckReq too: when a message's last packet has come, and after every 64th packet.
void NearPart::acknowledge_within_message(NearFlow& flow, Time now) {
  const std::int32_t pending = psn_diff(flow.examined_end, flow.h);
  if (pending == 0) {
    flow.owed.ack = false;
    return;
  }
  const rte_mbuf* next = flow.queue.to_acknowledge();
  const bool last_has_come = next != nullptr && held_in(next).msn != flow.msn_released;
  if (!last_has_come && !flow.owed.ack && pending < kPacketsUnasked) return;
  flow.owed.ack = false;
  pseudo_ack(flow, psn_add(flow.examined_end, -1), flow.msn_released, flow.examined_bytes, kNever, now);
}

// Some NICs ask for an ACK once in hundreds of packets, and not at each message's end. A responder may acknowledge
// unasked, and the box does so once a completed message has waited for ack_unasked: the requester's window opens
// earlier, and its application has the completion. A requester that asks goes on hearing at once.
void NearPart::note_untold(NearFlow& flow, Time now) const {
  if (settings_.ack_unasked == 0 || flow.unasked_since != 0) return;
  flow.unasked_since = now;
  flow.deadline = std::min(flow.deadline, unasked_due(flow));
}

// Everything before to_acknowledge() may be acknowledged.
void NearPart::acknowledge_unasked(NearFlow& flow, Time now) {
  flow.unasked_since = 0;
  if (flow.queue.empty() || flow.policy != flow::Policy::full || !may_acknowledge(flow) || may_have_left(flow, now))
    return;
  const rte_mbuf* next = flow.queue.to_acknowledge();
  const rte_mbuf* last = next == nullptr ? flow.queue.newest() : find(flow, psn_add(held_in(next).psn, -1));
  if (last == nullptr) return;
  const Held& held = held_in(last);
  if (!completes_untold(flow, held) || psn_lt(held.last_psn, flow.h)) return;
  if (pseudo_ack(flow, held.last_psn, held.msn, held.end_bytes, kNever, now))
    ++counters_[Counter::pseudo_acks_unasked];
  else
    flow.unasked_since = now;
}

// A NAK for `psn` needs a requester that is still here and waits for an answer to `psn`: a requester ignores a NAK for
// what the responder has acknowledged.
bool NearPart::may_ask_for(const NearFlow& flow, std::uint32_t psn, Time now) const {
  return !answered_unseen(flow, psn) && !may_have_left(flow, now);
}

// The responder has discarded what the requester waits for at h, too, and would have said so to it without a box. An
// RNR NAK uses up none of the retries that the requester's own timer does. Many short waits need no such NAK: the
// requester goes on filling custody, as long as it hears something before its timer runs out.
void NearPart::tell_not_ready(NearFlow& flow, Time now) {
  flow.owes_rnr_nak = false;
  if (flow.trust.silent != 0 || !psn_lt(flow.h, first_unused(flow)) || !may_ask_for(flow, flow.h, now)) return;
  const rte_mbuf* waiting = find(flow, flow.h);
  const Time since = waiting == nullptr ? 0 : held_in(waiting).received_at;
  if (flow.hold_until + flow.rtt.smoothed() < since + Trickle::interval_of(flow.ack_timeout)) return;
  send_made(flow, flow.h, flow.msn_h, wire::rnr_syndrome(flow.rnr_timer), Counter::rnr_naks_made);
}

// A NAK acknowledges what precedes it, so it waits until all of that may be acknowledged.
void NearPart::nak_gap(NearFlow& flow) {
  if (!made_.has_frame()) {
    ++counters_[Counter::made_frames_lost];
    return;  // it stays owed
  }
  flow.owed.gap_nak = GapNak::sent;
  flow.examined_end = flow.tail;
  promise(flow, flow.tail, psn_add(flow.msn_base, flow.msn_tail), flow.bytes_taken);
  send_made(flow, flow.tail, flow.msn_h, wire::nak_syndrome(wire::NakCode::psn_sequence_error), Counter::pseudo_naks);
}

// The credits that the responder has left when it has taken everything acknowledged.
std::uint8_t NearPart::ack_syndrome(const NearFlow& flow) {
  if (!flow.credits_used) return wire::kAckNoCredits;
  return wire::credit_code(flow.receive_limit - std::min(flow.receive_limit, flow.receives_examined));
}

bool NearPart::send_made(NearFlow& flow, std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome, Counter counter,
                         Time cause) {
  rte_mbuf* frame = flow.ack.make(made_, psn, msn, syndrome);
  if (frame == nullptr) {
    // As if lost on the way: the requester asks again.
    ++counters_[Counter::made_frames_lost];
    return false;
  }
  ++counters_[counter];
  outlet_.send_to_requester(flow, frame, cause);
  return true;
}

}  // namespace longhaul::custody
