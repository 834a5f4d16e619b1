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
  listed_.add(flow.connection);
}

// Where it is not known whose answers come, nothing is asked for.
bool AnswerOrder::may_ask(const NearFlow& flow) {
  return flow.pairing.bound && !custody::is_over(flow.phase) && !flow.doubted() && !flow.shared();
}

// What is missing of the flow, which will be reported.
Runs& AnswerOrder::list_gap(const NearFlow& flow) {
  Runs& runs = order_of(flow).runs;
  runs.forget_before(next_of(flow));
  list(flow);
  return runs;
}

void AnswerOrder::waits(const NearFlow& flow, std::uint32_t psn, Time now) {
  const std::uint32_t next = next_of(flow);
  if (may_ask(flow) && !psn_lt(psn, next)) list_gap(flow).add(next, psn, wire::psn_add(psn, 1), now);
}

void AnswerOrder::dropped(const NearFlow& flow, std::uint32_t psn, Time now) {
  if (may_ask(flow)) list_gap(flow).expect(next_of(flow), wire::psn_add(psn, 1), now);
}

void AnswerOrder::goes_on(const NearFlow& flow) { orders_[flow.connection].runs.clear(); }

void AnswerOrder::note_progress(NearFlow& flow) {
  flow.pairing.responses_to = flow.read_next;
  order_of(flow).moved = true;
  list(flow);
}

void AnswerOrder::clock(Speaker peer, Bytes body, Time now) {
  const ClockHead* head = take_head<ClockHead>(body);
  if (head == nullptr) return;
  heard_[peer].hear(head->clock);
  for (const AnswerClockEntry& entry : entries_in<AnswerClockEntry>(body)) {
    const NearFlow* flow = outlet_.flow_of(entry.name.handle);
    if (flow == nullptr || flow->pairing.binding != entry.name.binding || flow->pairing.peer != peer) continue;
    const std::uint32_t next = next_of(*flow);
    const std::uint32_t top = entry.top & wire::kPsnMask;
    // Nobody answers what was not sent. What has gone on without a response waits for it no more.
    const bool gone_on = flow->queue.first_read() != nullptr && flow->read_gap == flow->read_next;
    if (!may_ask(*flow) || !psn_lt(next, top) || psn_lt(flow->sent_top, top) || psn_diff(top, next) > kReach || gone_on)
      continue;
    list_gap(*flow).expect(next, top, now);
  }
  report(peer, now);
}

void AnswerOrder::report(Speaker peer, Time now) {
  Heard& heard = heard_[peer];
  const bool full = heard.begin_report(kFullReports, now);
  StateWriter writer({heard.clock, outlet_.repeated_responses(peer)});
  unsigned sent = 0;
  const auto send = [&](Bytes body) {
    ++sent;
    outlet_.send(peer, Type::answer_state, body);
  };
  using Served = ReportTurns::Served;
  listed_.take([&](std::uint32_t handle) {
    Order& order = orders_[handle];
    NearFlow* flow = outlet_.flow_of(handle);
    if (flow == nullptr || flow->pairing.binding != order.binding || !may_ask(*flow)) {
      order.listed = false;
      return Served::leaves;
    }
    const bool found_place = sent < kMostReports;
    if (flow->pairing.peer == peer && found_place) {
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
        const std::uint32_t end = wire::psn_add(missing.psn, missing.count);
        if (order.asked_in != order.binding || psn_lt(order.asked_end, end)) order.asked_end = end;
        order.asked_in = order.binding;
        // A repaired answer comes late: until then no timer goes off, and it measures no round trip.
        flow->gap_reported = true;
        flow->pairing.gap_at = now;
      });
      if (full && !order.runs.empty()) writer.missing({order.runs.last().end, 0}, send);
    }
    order.listed = order.moved || !order.runs.empty();
    if (!order.listed) return Served::leaves;
    return flow->pairing.peer == peer && !found_place ? Served::found_no_place : Served::stays;
  });
  if (writer.empty() && !heard.may_say_nothing(now)) return;
  heard.said_at = now;
  writer.finish(send);
}

}  // namespace longhaul::relay
