// SPDX-License-Identifier: BSD-3-Clause
#include "custody/near_part.hpp"

#include <rte_mempool.h>

#include <algorithm>

#include "base/fair_share.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

namespace {

// Without custody: everything before `una` is answered, and `sent_top` and later PSNs are new.
void place(NearFlow& flow, std::uint32_t una, std::uint32_t sent_top) {
  flow.una = flow.h = flow.tail = flow.examined_end = una;
  flow.sent_top = flow.late_end = sent_top;
}

}  // namespace

Budget NearPart::divided(Budget limits) {
  limits.undivided_bytes = undivided(limits.pair_bytes_limit, limits.box_bytes_limit);
  limits.undivided_large_mbufs = undivided(limits.pair_large_mbufs_limit, limits.large_mbufs_limit);
  limits.lane_mbufs = std::min(limits.undivided_large_mbufs, limits.plentiful_mbufs());
  return limits;
}

std::uint64_t NearPart::most_packets(const Budget& limits, const SmallPools& pools) {
  std::uint64_t packets = limits.large_mbufs_limit;
  for (const rte_mempool* pool : pools.pools) packets += pool->size;
  return packets;
}

void NearPart::begin(NearFlow& flow, std::uint32_t starting_psn, Duration give_up, bool proven, Time now) {
  if (settings_.confirm_by_cm && proven) vouched(flow);
  flow.next_policy = flow.policy;
  // A flow that is only counted must not have its gaps NAKed.
  if (flow.policy == flow::Policy::off) flow.move(PhaseEvent::policy_changed);
  place(flow, starting_psn, starting_psn);
  flow.first_psn = starting_psn;
  flow.give_up = give_up;
  flow.confirm_again = settings_.confirm_again;
  flow.unanswered_since = now;
}

void NearPart::established(NearFlow& flow) {
  end_contest(flow, kUnproven);
  const bool untouched = flow.queue.empty() && flow.una == flow.tail && flow.tail == flow.sent_top;
  if (!settings_.confirm_by_cm || flow.phase != Phase::unconfirmed || !untouched) return;
  vouched(flow);
}

// Custody begins with the connection, at MSN 0, so no answer has to teach the MSN.
void NearPart::vouched(NearFlow& flow) {
  flow.move(PhaseEvent::cm_vouched);
  flow.trust.was_confirmed = flow.trust.msn_known = true;
}

// The flow goes on as after any stretch of plain RoCE: custody begins, then an ACK covers what went before it.
void NearPart::begin_midway(NearFlow& flow, std::uint32_t una, std::uint32_t msn, std::uint32_t next_psn, Time now) {
  flow.move(PhaseEvent::begun_midway);
  flow.answered_at = now;
  flow.next_policy = flow.policy;
  flow.trust.was_confirmed = true;
  place(flow, una, next_psn);
  flow.first_psn = wire::psn_add(una, -1);
  flow.msn_h = msn;
  flow.give_up = settings_.give_up;
  flow.confirm_again = std::min(settings_.confirm_again, kConfirmAgainUnannounced);
}

void NearPart::begin_failed(NearFlow& flow, const RecordSlot::Promise& promise, std::uint64_t lost_bytes) const {
  flow.move(PhaseEvent::found_in_record);
  place(flow, promise.h, promise.h);
  flow.failure.psn = promise.h;
  flow.msn_h = flow.msn_base = promise.msn_h;
  flow.failure.lost_bytes = lost_bytes;
  flow.give_up = settings_.give_up;
  flow.confirm_again = std::min(settings_.confirm_again, kConfirmAgainUnannounced);
  flow.failure.from_record = true;
}

void NearPart::end(NearFlow& flow, Time now) {
  if (flow.phase == Phase::ended) return;
  const std::uint64_t left = flow.queue.packets();
  if (flow.owes()) {
    counters_[Counter::unconfirmed_at_close_packets] += left;
    counters_[Counter::unconfirmed_at_close_bytes] += flow.queue.bytes();
    if (observer_ != nullptr) observer_->on_unconfirmed_at_close(flow.identity, left, flow.queue.bytes(), now);
  }
  if (flow.phase == Phase::failed) count_untold(flow, now);
  if (observer_ != nullptr) observer_->on_flow_closed(flow.identity, left, now);
  end_custody(flow, PhaseEvent::closed);
  if (flow.record != nullptr) flow.record->clear();
  flow.record = nullptr;
}

void NearPart::end_custody(NearFlow& flow, PhaseEvent why) {
  flow.move(why);
  release_all(flow);
  drop_waiting(flow);
  pass_early_answers(flow);
  flow.deadline = kNever;
}

void NearPart::count_untold(const NearFlow& flow, Time now) {
  if (flow.failure.told) return;
  counters_[Counter::closed_untold_bytes] += flow.failure.lost_bytes;
  if (observer_ != nullptr) observer_->on_closed_untold(flow.identity, flow.failure.lost_bytes, now);
}

void NearPart::abandon(NearFlow& flow, std::string_view why, Time now) {
  if (!flow.owes()) return;
  if (flow.doubted())
    end_unconfirmed(flow, now);  // the next request may be another life's
  else
    fail(flow, wire::NakCode::remote_operational_error, why, now);
}

void NearPart::set_policy(NearFlow& flow, flow::Policy policy) {
  flow.next_policy = policy;
  if (flow.policy == policy) return;
  // With policy off, nothing is in custody, and no ICRC was verified. So the new policy applies before the flow
  // rejoins.
  if (flow.policy == flow::Policy::off) {
    flow.policy = policy;
    flow.ack = AckTemplate{};
  }
  if (!is_over(flow.phase)) flow.move(PhaseEvent::policy_changed);
}

void NearPart::set_times(const NearSettings& times) {
  settings_.rto_initial = times.rto_initial;
  settings_.rto_min = times.rto_min;
  settings_.rto_max = times.rto_max;
  settings_.give_up = times.give_up;
  settings_.confirm_again = times.confirm_again;
  settings_.reorder_wait = times.reorder_wait;
  settings_.ack_unasked = times.ack_unasked;
  settings_.confirm_by_cm = times.confirm_by_cm;
  settings_.cnp = times.cnp;
}

void NearPart::follow_link(std::uint64_t sent, std::uint64_t received, Time now) {
  link_.look(sent, received, now);
  first_timeout_ = link_.rtt().timeout(settings_.rto_initial, settings_.rto_min, settings_.rto_max);
  // No window is less than half the initial one. At the link's start each packet is checked.
  least_window_ = link_.starting() ? 0 : std::min(settings_.initial_window_bytes / 2, budget_.flow_bytes_limit);
}

std::uint64_t NearPart::owed_bytes(const NearFlow& flow) {
  std::uint64_t bytes = 0;
  for (const rte_mbuf* mbuf = flow.queue.head(); mbuf != nullptr && wire::psn_lt(held_in(mbuf).psn, flow.h);
       mbuf = held_in(mbuf).next)
    bytes += mbuf->pkt_len;
  return bytes;
}

void NearPart::discard(NearFlow& flow) {
  for (WaitingList* list : {&flow.early_responses, &flow.early_acknowledges})
    while (rte_mbuf* mbuf = list->oldest) {
      take_out(flow, *list, mbuf);
      freed_.add(mbuf);
    }
  if (flow.phase != Phase::ended) end_custody(flow, PhaseEvent::closed);
}

}  // namespace longhaul::custody
