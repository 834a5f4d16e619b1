// SPDX-License-Identifier: BSD-3-Clause
// Sending from custody: first transmissions, resends, timers, giving up.
#include <rte_mbuf.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "custody/near_part.hpp"
#include "wire/icrc.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_le;
using wire::psn_lt;

void NearPart::try_send(NearFlow& flow, Time now, Pace pace) {
  // One frame from a host or from its responder may cause a resend of everything: others have their turns first.
  std::int64_t left = pace == Pace::kept ? outlet_.turn_bytes() : std::numeric_limits<std::int64_t>::max();
  for (; rte_mbuf* mbuf = flow.queue.unsent(); left -= mbuf->pkt_len) {
    if (left <= 0) {
      outlet_.wait_to_send(flow);
      break;
    }
    if (now < flow.hold_until || flow.resend.probe == Probe::out) break;
    if (flow.queue.under_way() >= flow.loss_window.packets()) break;  // goes on with the next answer
    if (pace == Pace::kept ? !outlet_.may_send(flow) : !outlet_.takes()) {
      outlet_.wait_to_send(flow);
      break;
    }
    Held& held = held_in(mbuf);
    if (flow.doubted() && !may_resend(flow, mbuf, now)) [[unlikely]] {
      if (held.sent) {
        skip_resends(flow);
        continue;
      }
      drop_never_sent(flow);
      break;
    }
    rte_mbuf* frame = nullptr;
    if (flow.resend.active) {
      const bool last = psn_le(flow.resend_marks.end, psn_add(held.last_psn, 1));
      // The responder need not answer a packet without AckReq; the end of a resend needs an answer.
      if ((last || flow.resend.probing()) && !held.ack_req && !held.wants_response) frame = with_ack_req(mbuf);
      if (last) flow.resend.active = false;
    }
    // A first transmission goes as it came. By the time of a resend the next hop may have changed
    // (engine/next_hop.hpp).
    if (held.sent) frame = to_next_hop(flow, mbuf, frame);
    if (frame == nullptr) {
      frame = mbuf;
      rte_mbuf_refcnt_update(mbuf, 1);
    }
    flow.queue.mark_sent();
    if (flow.resend.probe == Probe::due) flow.resend.probe = Probe::out;
    outlet_.send_held(flow, mbuf, frame);
  }
}

// Sends what waits for the pace, if that is `most` bytes or less. Returns false when something still waits.
bool NearPart::send_waiting(NearFlow& flow, std::uint64_t most, Time now) {
  const rte_mbuf* first = flow.queue.unsent();
  if (first == nullptr) return true;
  const std::uint64_t bytes = held_in(flow.queue.newest()).end_bytes - held_in(first).end_bytes + first->pkt_len;
  // In these states packets wait for more than the pace.
  if (bytes > most || flow.doubted() || flow.resend.active || flow.resend.probing()) return false;
  try_send(flow, now, Pace::ignored);
  outlet_.settle();
  return flow.queue.unsent() == nullptr;
}

void NearPart::on_sent(NearFlow& flow, rte_mbuf* mbuf, Time now) {
  Held& held = held_in(mbuf);
  if (held.sent) {
    ++counters_[Counter::resends];
    held.resent = true;
  } else {
    ++counters_[Counter::forwarded_wan];
    flow.queue.mark_accepted(mbuf);
  }
  held.sent = true;
  held.repairing = false;
  held.sent_at = now;
  const std::uint32_t after = psn_add(held.last_psn, 1);
  if (psn_lt(flow.sent_top, after)) flow.sent_top = after;
  if (flow.deadline == kNever) arm(flow, now);
}

void NearPart::on_refused(NearFlow& flow, rte_mbuf* mbuf) {
  if (held_in(mbuf).repairing) {
    held_in(mbuf).repairing = false;  // the peer asks again
    return;
  }
  const rte_mbuf* unsent = flow.queue.unsent();
  if (unsent == nullptr || psn_lt(held_in(mbuf).psn, held_in(unsent).psn)) flow.queue.rewind_to(mbuf);
  // The end of a resend may have been among those refused: it must carry AckReq when its turn comes again.
  if (held_in(mbuf).sent && psn_lt(held_in(mbuf).psn, flow.resend_marks.end)) flow.resend.active = true;
  flow.resend.take_probe_back();
  outlet_.wait_to_send(flow);
}

void NearPart::rewind(NearFlow& flow, Counter why, Time now) {
  if (flow.queue.empty()) return;
  ++counters_[why];
  // Everything before unsent has been sent.
  const rte_mbuf* unsent = flow.queue.unsent();
  const std::uint32_t sent_end = unsent == nullptr ? flow.tail : held_in(unsent).psn;
  flow.resend_marks.end =
      flow.resend.active && psn_lt(sent_end, flow.resend_marks.end) ? flow.resend_marks.end : sent_end;
  flow.resend.active = true;
  flow.resend_marks.rewound_to = flow.una;
  flow.resend_marks.rewound_at = now;
  flow.queue.rewind();
  flow.resend.take_probe_back();
  if (!flow.resend.probing()) outlet_.goes_back(flow);
  try_send(flow, now);
}

void NearPart::resend_for_nak(NearFlow& flow, Counter why, Time now) {
  flow.resend.probe = Probe::none;  // the path works: send everything again, not one packet
  rewind(flow, why, now);
  // The responder discarded packets that custody does not have, too, and it NAKs a gap only once.
  if (psn_lt(flow.tail, flow.sent_top)) flow.owed.repair_nak = true;
}

// A timeout sends one packet. If the responder has all the rest, its answer says so. If it misses this packet, its
// answer lets the rest follow. Sending everything at once would flood a slow path.
void NearPart::probe(NearFlow& flow, Time now) {
  const rte_mbuf* unsent = flow.queue.unsent();
  if (!flow.resend.probing()) {
    flow.resend_marks.resume_psn = unsent == nullptr ? flow.tail : held_in(unsent).psn;
    flow.probe_settled = flow.probe_settled && flow.una == flow.resend_marks.probe_end;
  }
  link_.on_loss(now);
  flow.resend.probe = Probe::due;
  flow.resend_marks.probe_end = psn_add(held_in(flow.queue.head()).last_psn, 1);
  rewind(flow, Counter::resends_timer, now);
}

// The responder answered while a probe was out. If the answer covers more than the probe, nothing was lost here, and
// sending goes on where it stood. The same holds for an answer that comes before the probe could be answered. But if
// none followed the last such answer, this one is the probe's own: the path is shorter than was known.
void NearPart::settle_probe(NearFlow& flow, Time now) {
  if (!flow.resend.probing()) return;
  flow.resend.probe = Probe::none;
  const bool none_followed = flow.probe_settled;
  flow.probe_settled = false;
  if (flow.una == flow.resend_marks.probe_end) {
    const Duration took = now - flow.resend_marks.rewound_at;
    if (none_followed) flow.rtt.sample(took, now);
    if (took >= flow.rtt.minimum()) {
      note_loss(flow);
      outlet_.goes_back(flow);
      return;
    }
    flow.probe_settled = true;
  }
  resume_at(flow, flow.resend_marks.resume_psn);
  if (psn_le(flow.resend_marks.end, flow.resend_marks.resume_psn)) flow.resend.active = false;
}

// What lies before `psn` has been sent, and does not go again.
void NearPart::resume_at(NearFlow& flow, std::uint32_t psn) const {
  const rte_mbuf* unsent = flow.queue.unsent();
  if (unsent == nullptr || psn_le(psn, held_in(unsent).psn)) return;
  rte_mbuf* next = find(flow, psn);
  if (next != nullptr || psn_le(flow.tail, psn)) flow.queue.skip_to(next);
}

// The box does not wait longer than this for an answer. The round trips of other flows say nothing about this
// responder.
Duration NearPart::patience_of(const NearFlow& flow) const {
  return std::min(flow.rtt.timeout(settings_.rto_initial, settings_.rto_min, settings_.rto_max), flow.give_up);
}

Duration NearPart::timeout_of(const NearFlow& flow) const {
  const Duration base = base_timeout_of(flow);
  const unsigned doublings = std::min<unsigned>(flow.resend.timeouts, 16);
  return std::min(base << doublings, std::max(base, settings_.rto_max));
}

// Decides when on_timer() must look at the flow again. on_timer() resends only what the box owes: the requester repeats
// the rest.
void NearPart::arm(NearFlow& flow, Time now) {
  flow.deadline = std::min(waiting_due(flow), unasked_due(flow));
  if (flow.queue.empty() || is_over(flow.phase)) return;
  // Also after an RNR wait is over: only on_timer() ends it.
  const Time due = flow.hold_until != 0
                       ? std::max(now, flow.hold_until)
                       : std::min({timeout_starts(flow, now) + timeout_of(flow), passed_due(flow), trickle_due(flow)});
  flow.deadline = std::min(flow.deadline, due);
}

// Each progress restarts the timer (RFC 6298, 5.3).
Time NearPart::timeout_starts(const NearFlow& flow, Time now) {
  const Held& head = held_in(flow.queue.head());
  if (!head.sent) return now;
  // What the peer misses is mended by its reports. It gives up in time, and is not believed for ever.
  constexpr unsigned kRoundTrips = 8;
  const Time believed = flow.unanswered_since + std::max(milliseconds(100), kRoundTrips * flow.rtt.minimum());
  return std::max({head.sent_at, flow.unanswered_since, std::min(flow.pairing.gap_at, believed)});
}

void NearPart::on_timer(NearFlow& flow, Time now) {
  if (due(flow, flow.waiting) <= now) gap_stays(flow, now);
  if (answers_due(flow) <= now) answers_turn(flow, now);
  if (unasked_due(flow) <= now) acknowledge_unasked(flow, now);
  on_custody_timer(flow, now);
  flow.deadline = std::min({flow.deadline, waiting_due(flow), unasked_due(flow)});
}

void NearPart::on_custody_timer(NearFlow& flow, Time now) {
  if (flow.queue.empty() || now < flow.hold_until) {
    arm(flow, now);
    return;
  }
  if (now - flow.unanswered_since >= flow.give_up) {
    give_up(flow, now);
    return;
  }
  if (passed_due(flow) <= now) {
    finish_passed(flow, now);
    arm(flow, now);
    return;
  }
  if (flow.hold_until != 0) {
    // An RNR wait is over.
    flow.hold_until = 0;
    try_send(flow, now);
    arm(flow, now);
    return;
  }
  if (trickle_due(flow) <= now) extend_trickle(flow, now);  // the caller acknowledges
  const Duration timeout = timeout_of(flow);
  const Time due = timeout_starts(flow, now) + timeout;
  // A packet that waits to be sent (again) cannot be answered yet.
  const bool waits = flow.queue.unsent() == flow.queue.head() && flow.resend.probe != Probe::out;
  if (!flow.owes() || waits || now < due) {
    flow.deadline = std::min({now < due ? due : now + timeout, passed_due(flow), trickle_due(flow)});
    return;
  }
  if (flow.resend.timeouts < 255) ++flow.resend.timeouts;
  if (!may_resend(flow, flow.queue.head(), now)) {
    ask_in_doubt(flow, now);
    flow.deadline = now + timeout_of(flow);
    return;
  }
  probe(flow, now);
  flow.deadline = std::min(now + timeout_of(flow), trickle_due(flow));
}

// Without RDMA-CM no message tells that a job has ended. Where its last ACK is lost, nobody is left to repeat it: all
// of its messages were acknowledged, the requester has sent nothing since, and the responder's NIC answers no more. A
// far host that died while its peer was idle looks the same, so the data counts as lost in any case.
bool NearPart::both_silent(const NearFlow& flow, Time now) {
  const rte_mbuf* newest = flow.queue.newest();
  if (flow.confirm_again > kConfirmAgainUnannounced || flow.h != flow.tail || flow.sent_top != flow.tail ||
      now - held_in(newest).received_at < flow.give_up)
    return false;
  wire::Frame frame;
  return wire::parse({rte_pktmbuf_mtod(newest, const std::uint8_t*), newest->pkt_len}, frame) ==
             wire::ParseStatus::roce &&
         frame.opcode->ends_message();
}

void NearPart::give_up(NearFlow& flow, Time now) {
  if (flow.doubted()) {
    // It can no longer be known whether this is the same connection.
    end_unconfirmed(flow, now);
    return;
  }
  if (flow.owes()) {
    const bool silent = both_silent(flow, now);
    if (silent) {
      ++counters_[Counter::flows_failed_silent];
      counters_[Counter::failed_silent_bytes] += flow.unconfirmed_bytes();
    }
    fail(flow, wire::NakCode::remote_operational_error,
         silent ? "both ends silent for give_up: perhaps their queue pairs are gone, and only the last answer was lost"
                : "no answer within give_up",
         now);
    // After so long without an answer, the requester's QPN may have another user. A requester that still waits repeats
    // a request.
    flow.owed.fatal_nak = false;
    return;
  }
  // No answer takes this path (or the responder is gone), and nothing was promised: back to plain RoCE until answers
  // come.
  ++counters_[Counter::flows_unanswered];
  end_custody(flow, PhaseEvent::unanswered);
  flow.trust.standing = Standing::lost;
}

void NearPart::fail(NearFlow& flow, wire::NakCode code, std::string_view why, Time now) {
  const std::uint64_t bytes = flow.unconfirmed_bytes();
  ++counters_[Counter::flows_failed];
  counters_[Counter::failed_bytes] += bytes;
  flow.failure.lost_bytes = bytes;
  if (flow.record != nullptr) flow.record->answered(flow.bytes_answered);
  if (observer_ != nullptr) observer_->on_flow_failed(flow.identity, why, bytes, now);
  // A requester with requests under way listens now; an idle one would ignore a NAK until its next request.
  flow.owed.fatal_nak = (psn_lt(flow.h, flow.sent_top) || psn_lt(flow.h, flow.tail)) && !may_have_left(flow, now);
  flow.failure.code = code;
  flow.failure.psn = flow.h;
  // From here on MSNs count from una.
  const std::uint32_t msn = psn_add(flow.msn_base, flow.msn_released);
  note_asked(flow);
  end_custody(flow, PhaseEvent::data_lost);
  flow.msn_base = msn;
  flow.msn_released = 0;
}

// Not in place: a port may still have the packet itself.
rte_mbuf* NearPart::copy_to_alter(const rte_mbuf* held) {
  rte_mbuf* copy = small_copy(held);
  return copy != nullptr ? copy : copy_into(pools_.frames, held);
}

// Returns the packet as its host would address it now: in `copy` or, where that is null, in a new copy. Null: the
// packet goes as it came. The ICRC does not cover these addresses.
rte_mbuf* NearPart::to_next_hop(const NearFlow& flow, const rte_mbuf* held, rte_mbuf* copy) {
  const auto came_with = *rte_pktmbuf_mtod(held, const wire::EthernetAddresses*);
  wire::EthernetAddresses newest = came_with;
  outlet_.newest_addresses(flow, newest);
  if (newest == came_with) return copy;
  if (copy == nullptr) copy = copy_to_alter(held);
  if (copy == nullptr) return nullptr;  // sent as it is; the timer asks again
  *rte_pktmbuf_mtod(copy, wire::EthernetAddresses*) = newest;
  ++counters_[Counter::resends_to_new_next_hop];
  return copy;
}

rte_mbuf* NearPart::with_ack_req(rte_mbuf* held) {
  rte_mbuf* copy = copy_to_alter(held);
  if (copy == nullptr) return nullptr;  // sent as it is; the timer asks again
  auto* bytes = rte_pktmbuf_mtod(copy, std::uint8_t*);
  wire::Frame frame;
  if (wire::parse({bytes, held->pkt_len}, frame) == wire::ParseStatus::roce) {
    auto& bth = *reinterpret_cast<wire::Bth*>(bytes + frame.bth_offset);
    bth.ack_req |= wire::kBthAckReq;
    wire::store_icrc(bytes + frame.icrc_offset, wire::compute_icrc(frame));
  }
  return copy;
}

}  // namespace longhaul::custody
