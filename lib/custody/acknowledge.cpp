// SPDX-License-Identifier: BSD-3-Clause
// What the box says to the requester in the responder's name.
#include <algorithm>

#include "custody/near_part.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_lt;

std::uint64_t NearPart::window_of(const NearFlow& flow, Time now) const {
  return std::min(flow.window.bytes(settings_.initial_window_bytes, now), budget_.flow_bytes_limit);
}

void NearPart::acknowledge(NearFlow& flow, Time now) {
  if (flow.phase == Phase::failed) {
    if (flow.fatal_nak_wanted)
      send_made(flow, flow.h, flow.msn_h, wire::nak_syndrome(flow.fatal_code), Counter::fatal_naks);
    flow.fatal_nak_wanted = false;
    return;
  }

  const bool may_acknowledge =
      (flow.phase == Phase::confirmed || flow.phase == Phase::plain) && flow.trusted && !draining_;
  if (may_acknowledge && flow.msn_known) {
    while (rte_mbuf* mbuf = flow.queue.to_acknowledge()) {
      const Held& held = held_in(mbuf);
      if (!held.sent) break;
      if (held.wants_response) {
        flow.late_end = flow.tail;
        break;
      }
      if (held.end_bytes - flow.bytes_answered > window_of(flow, now)) {
        if (!flow.withheld) ++counters_[Counter::pseudo_acks_withheld];
        flow.withheld = true;
        flow.late_end = flow.tail;
        flow.window.on_limited();
        break;
      }
      flow.withheld = false;
      flow.queue.mark_examined();
      if (!held.ack_req) continue;
      flow.h = psn_add(held.last_psn, 1);
      flow.msn_h = psn_add(flow.msn_base, held.msn);
      flow.acknowledged_any = true;
      flow.reacknowledge = false;  // this ACK says more
      if (observer_ != nullptr)
        observer_->on_pseudo_ack(
            flow.identity,
            {flow.ack.destination_qpn(), held.last_psn, flow.msn_h, wire::kAckNoCredits, flow.ack.p_key()}, now);
      send_made(flow, held.last_psn, flow.msn_h, wire::kAckNoCredits, Counter::pseudo_acks,
                psn_lt(held.psn, flow.late_end) ? kNever : held.received_at);
    }
    // A NAK acknowledges what precedes it, so it waits until all of that may be acknowledged.
    if (flow.gap_nak_wanted && flow.phase == Phase::confirmed && flow.queue.to_acknowledge() == nullptr) {
      flow.gap_nak_wanted = false;
      flow.gap_nak_sent = true;
      flow.h = flow.tail;
      flow.msn_h = psn_add(flow.msn_base, flow.msn_tail);
      flow.acknowledged_any = true;
      send_made(flow, flow.tail, flow.msn_h, wire::nak_syndrome(wire::NakCode::psn_sequence_error),
                Counter::pseudo_naks);
    }
  }

  if (!may_acknowledge || !flow.msn_known) flow.late_end = flow.tail;

  if (flow.repair_nak_wanted) {
    flow.repair_nak_wanted = false;
    send_made(flow, flow.h, flow.msn_h, wire::nak_syndrome(wire::NakCode::psn_sequence_error), Counter::repair_naks);
  }
  if (flow.reacknowledge) {
    flow.reacknowledge = false;
    send_made(flow, psn_add(flow.h, -1), flow.msn_h, wire::kAckNoCredits, Counter::pseudo_acks_repeated);
  }
}

void NearPart::send_made(NearFlow& flow, std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome, Counter counter,
                         Time cause) {
  rte_mbuf* frame = flow.ack.make(pools_.pools.front(), psn, msn, syndrome);
  if (frame == nullptr) {
    // As if lost on the way: the requester asks again.
    ++counters_[Counter::made_frames_lost];
    return;
  }
  ++counters_[counter];
  outlet_.send_to_requester(frame, cause);
}

}  // namespace longhaul::custody
