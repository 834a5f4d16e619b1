// SPDX-License-Identifier: BSD-3-Clause
#include "relay/answer_order.hpp"

#include <algorithm>

#include "wire/psn.hpp"

namespace longhaul::relay {

using custody::NearFlow;
using wire::psn_diff;
using wire::psn_lt;

AnswerOrder::Order& AnswerOrder::order_of(const NearFlow& flow) {
  Order& order = orders_[flow.connection];
  if (order.binding != flow.pairing.binding) {
    order.binding = flow.pairing.binding;
    order.moved = false;
    order.runs.clear();
  }
  return order;
}

void AnswerOrder::list(const NearFlow& flow) {
  Order& order = orders_[flow.connection];
  if (order.listed) return;
  order.listed = true;
  listed_.push_back(flow.connection);
}

// Where it is not known whose answers come, nothing is asked for.
bool AnswerOrder::may_ask(const NearFlow& flow) {
  return flow.pairing.bound && !custody::is_over(flow.phase) && !flow.doubted() && !flow.shared();
}

void AnswerOrder::waits(const NearFlow& flow, std::uint32_t psn, Time now) {
  if (!may_ask(flow)) return;
  Order& order = order_of(flow);
  const std::uint32_t next = next_of(flow);
  order.runs.forget_before(next);
  if (psn_lt(psn, next)) return;
  order.runs.add(next, psn, wire::psn_add(psn, 1), now);
  list(flow);
}

void AnswerOrder::dropped(const NearFlow& flow, std::uint32_t psn, Time now) {
  if (!may_ask(flow)) return;
  Order& order = order_of(flow);
  const std::uint32_t next = next_of(flow);
  order.runs.forget_before(next);
  order.runs.expect(next, wire::psn_add(psn, 1), now);
  list(flow);
}

void AnswerOrder::goes_on(const NearFlow& flow) { orders_[flow.connection].runs.clear(); }

void AnswerOrder::note_progress(NearFlow& flow) {
  flow.pairing.responses_to = flow.read_next;
  order_of(flow).moved = true;
  list(flow);
}

void AnswerOrder::clock(PeerNumber peer, Bytes body, Time now) {
  if (body.size() < sizeof(ClockHead)) return;
  Heard& heard = heard_[peer];
  heard.clock = std::max<std::uint64_t>(heard.clock, reinterpret_cast<const ClockHead*>(body.data())->clock);
  for (const AnswerClockEntry& entry : entries_in<AnswerClockEntry>(body.subspan(sizeof(ClockHead)))) {
    const NearFlow* flow = outlet_.flow_of(entry.name.handle);
    if (flow == nullptr || flow->pairing.binding != entry.name.binding || flow->pairing.peer != peer) continue;
    const std::uint32_t next = next_of(*flow);
    const std::uint32_t top = entry.top & wire::kPsnMask;
    // Nobody answers what was not sent. What has gone on without a response waits for it no more.
    const bool gone_on = flow->queue.first_read() != nullptr && flow->read_gap == flow->read_next;
    if (!may_ask(*flow) || !psn_lt(next, top) || psn_lt(flow->sent_top, top) || psn_diff(top, next) > kReach || gone_on)
      continue;
    Order& order = order_of(*flow);
    order.runs.forget_before(next);
    order.runs.expect(next, top, now);
    list(*flow);
  }
  report(peer, now);
}

void AnswerOrder::report(PeerNumber peer, Time now) {
  Heard& heard = heard_[peer];
  const bool full = now >= heard.full_at;
  if (full) heard.full_at = now + heard.round_trip / kFullReports;
  StateWriter writer({heard.clock, outlet_.repeated_responses()});
  unsigned sent = 0;
  const auto send = [&](Bytes body) {
    ++sent;
    outlet_.send(peer, Type::answer_state, body);
  };
  std::size_t kept = 0;
  std::size_t unserved = 0;  ///< the first in the kept list that found no place
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    const std::uint32_t handle = listed_[i];
    Order& order = orders_[handle];
    NearFlow* flow = outlet_.flow_of(handle);
    if (flow == nullptr || flow->pairing.binding != order.binding || !may_ask(*flow)) {
      order.listed = false;
      continue;
    }
    if (flow->pairing.peer == peer && sent == kStates && unserved == 0) unserved = kept;
    if (flow->pairing.peer == peer && sent < kStates) {
      const std::uint32_t next = next_of(*flow);
      order.runs.forget_before(next);
      // What the far box does not have either is not asked for without end.
      if (!order.runs.empty() && order.runs.first().since + patience_for(heard.round_trip) < now) order.runs.clear();
      const Name name{handle, order.binding};
      bool begun = false;
      const auto begin = [&] {
        if (!begun) writer.begin(name, full ? kFirst | kComplete : kFirst, next, send);
        begun = true;
      };
      if (full && (order.moved || !order.runs.empty())) begin();
      if (full) order.moved = false;
      order.runs.for_missing(next, full, [&](const Missing& missing) {
        begin();
        writer.missing(missing, send);
        // A repaired answer comes late: until then no timer goes off, and it measures no round trip.
        flow->gap_reported = true;
        flow->pairing.gap_at = now;
      });
      if (full && !order.runs.empty()) writer.missing({order.runs.last().end, 0}, send);
    }
    if (order.moved || !order.runs.empty())
      listed_[kept++] = handle;
    else
      order.listed = false;
  }
  listed_.resize(kept);
  // The next report begins with those.
  std::rotate(listed_.begin(), listed_.begin() + static_cast<std::ptrdiff_t>(std::min(unserved, kept)), listed_.end());
  writer.finish(send);
}

}  // namespace longhaul::relay
