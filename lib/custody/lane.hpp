// SPDX-License-Identifier: BSD-3-Clause
// The lane: the usual packet of a usual flow, in order and with nothing in its way, and the responder's ACK of the
// oldest packet in custody. What happens is what request.cpp, answer.cpp and acknowledge.cpp do, in the same order,
// without the questions whose answers FlowState::is_usual() and the frame's shape have already given. Where they have
// not, the lane does not begin, and the general path takes the packet.
//
// Included by those who take packets: the functions are part of their loops.
#pragma once

#include <new>

#include "custody/near_part.hpp"
#include "wire/credits.hpp"
#include "wire/psn.hpp"
#include "wire/usual_frame.hpp"

namespace longhaul::custody {

inline bool NearPart::lane_takes(const NearFlow& flow, std::uint32_t psn, std::uint64_t bytes, Time now) const {
  if (!flow.is_usual() || psn != flow.tail || flow.path_mtu == 0 || flow.ack.empty() || draining_) return false;
  if (flow.queue.unsent() != nullptr) return false;
  if (flow.queue.empty() && idle_for_long(flow, now)) return false;
  if (wire::psn_diff(psn, flow.una) >= kMaxSpan || flow.queue.under_way() >= flow.loss_window.packets()) return false;
  const Holding& own = *flow.holding;
  return bytes_of(flow) + bytes <= budget_.flow_bytes_limit && budget_.held.bytes + bytes <= budget_.undivided_bytes &&
         budget_.held.large_mbufs < budget_.lane_mbufs && own.large_mbufs < budget_.pair_plentiful_mbufs();
}

inline void NearPart::lane_take(NearFlow& flow, const wire::UsualFrame& frame, std::uint32_t psn, rte_mbuf* mbuf,
                                Time now) {
  const std::uint64_t bytes = mbuf->pkt_len;
  const bool ack_req = frame.ack_req();
  rte_mbuf_refcnt_update(mbuf, 1);
  budget_.held.add(bytes, false);
  flow.holding->add(bytes, false);
  if (flow.queue.empty()) flow.unanswered_since = now;
  flow.bytes_taken += bytes;
  flow.msn_tail = wire::psn_add(flow.msn_tail, frame.ends_message() ? 1 : 0);
  new (&held_in(mbuf)) Held{.received_at = now,
                            .end_bytes = flow.bytes_taken,
                            .psn = psn,
                            .last_psn = psn,
                            .msn = flow.msn_tail,
                            .ack_req = ack_req,
                            .takes_receive = frame.takes_receive()};
  if (flow.queue.append_sent(mbuf)) [[unlikely]]
    add_to_index(flow, mbuf);
  flow.tail = wire::psn_add(psn, 1);
  ++counters_[Counter::requests];
  if (ack_req) ++counters_[Counter::eligible_requests];
}

inline bool NearPart::lane_releases(const NearFlow& flow, const wire::UsualFrame& answer) const {
  const rte_mbuf* head = flow.queue.head();
  if (!flow.is_usual() || head == nullptr || flow.queue.unsent() != nullptr) return false;
  const Held& held = held_in(head);
  const std::uint32_t psn = answer.psn();
  return held.last_psn == psn && wire::psn_add(flow.msn_base, held.msn) == answer.msn() && !held.wants_response &&
         answer.syndrome() == wire::kAckNoCredits && wire::psn_lt(psn, flow.h) && !flow.behind && flow.path_mtu != 0 &&
         flow.ack.resembles(answer.data(), AckTemplate::Source::acknowledge);
}

inline bool NearPart::lane_release(NearFlow& flow, const wire::UsualFrame& answer, Time now) {
  ++counters_[Counter::real_acks];
  ++counters_[Counter::absorbed_acks];
  if (observer_ != nullptr) [[unlikely]]
    observer_->on_real_ack(flow.identity,
                           {answer.destination_qpn(), answer.psn(), answer.msn(), answer.syndrome(), answer.p_key()},
                           true, flow.h, now);
  rte_mbuf* mbuf = flow.queue.pop_usual();
  const Held& held = held_in(mbuf);
  flow.una = wire::psn_add(held.last_psn, 1);
  sample_round_trip(flow, held, now);
  count_answered(flow, held);
  give_back(flow, mbuf);
  flow.loss_window.on_delivered();
  if (wire::psn_lt(flow.examined_end, flow.una)) flow.examined_end = flow.una;
  flow.unanswered_since = flow.answered_at = now;
  flow.vain_naks = 0;
  flow.window.on_delivered(flow.bytes_answered, flow.rtt.minimum(), now);
  if (flow.record != nullptr) flow.record->answered(flow.bytes_answered);
  if (!armed_late(flow, now)) [[likely]]
    return false;
  arm(flow, now);
  return true;
}

// `msn` and `bytes` count from where custody began, as in Held. Without a buffer for the ACK nothing is promised
// either: the responder's own ACK would be absorbed, and the requester would hear of neither. Returns false then.
inline bool NearPart::make_pseudo_ack(NearFlow& flow, std::uint32_t psn, std::uint32_t msn, std::uint64_t bytes,
                                      std::uint8_t syndrome, Time cause, Time now) {
  if (!made_.has_frame()) [[unlikely]] {
    ++counters_[Counter::made_frames_lost];
    return false;
  }
  promise(flow, wire::psn_add(psn, 1), wire::psn_add(flow.msn_base, msn), bytes);
  if (observer_ != nullptr) [[unlikely]]
    observer_->on_pseudo_ack(flow.identity, {flow.ack.destination_qpn(), psn, flow.msn_h, syndrome, flow.ack.p_key()},
                             now);
  ++counters_[Counter::pseudo_acks];
  outlet_.send_to_requester(flow, flow.ack.make(made_, psn, flow.msn_h, syndrome), cause);
  return true;
}

inline void NearPart::lane_acknowledge(NearFlow& flow, Time now) {
  rte_mbuf* mbuf = flow.queue.to_acknowledge();
  // A full custody may withhold (is_nearly_full()).
  if (mbuf == nullptr || budget_.held.bytes > budget_.undivided_bytes ||
      held_in(flow.queue.newest()).number - held_in(mbuf).number >= kExaminedAtOnce)
    return;
  for (; mbuf != nullptr; mbuf = flow.queue.to_acknowledge()) {
    const Held& held = held_in(mbuf);
    const bool withheld = held.end_bytes - flow.bytes_answered > least_window_;
    // A packet that came in this burst shows that its requester is here: may_have_left() need not be asked.
    if (!held.sent || held.wants_response || withheld || held.received_at != now) return;
    if (held.takes_receive) ++flow.receives_examined;
    if (held.ack_req) {
      const Time cause = wire::psn_lt(held.psn, flow.late_end) ? kNever : held.received_at;
      if (!make_pseudo_ack(flow, held.last_psn, held.msn, held.end_bytes, wire::kAckNoCredits, cause, now))
          [[unlikely]] {
        if (held.takes_receive) --flow.receives_examined;
        return;
      }
    } else if (completes_untold(flow, held)) [[unlikely]] {
      note_untold(flow, now);
    }
    flow.queue.mark_examined();
  }
}

}  // namespace longhaul::custody
