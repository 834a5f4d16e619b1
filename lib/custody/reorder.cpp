// SPDX-License-Identifier: BSD-3-Clause
// Requests beyond a gap in the requester's PSNs.
//
// Networks with adaptive routing deliver a packet 10 to 100 us late, behind others, and NICs that place what comes out
// of order take no notice. So a request beyond a gap first waits here for what is missing:
//
//   comes in time     it and all that follows it go on in the order of their PSNs, as if the network had kept it. Until
//                     then nothing of it is in custody, so nothing can be sent or acknowledged out of order.
//   does not come     it was lost. The box asks for it by a PSN NAK, and drops what waited: a requester that goes back
//                     sends all of it again. What the box had kept and acknowledged by then would look like a repeat of
//                     what the requester knows (kRepeated), and stop the pseudo-ACKs for a round trip.
//   may not be asked  (the flow is not confirmed, for one): what waited goes on in the order in which it came.
//
// How long: reorder_wait, counted from the oldest packet that waits, so the same for each gap; but no longer than the
// flow's least round trip, after which the responder would have asked. So a lost packet costs no more time than without
// a box. The timer of the flow (NearFlow::deadline) includes it. How much: waiting_packets.hpp. Without room a packet
// beyond a gap is a sign of loss at once.
//
// A packet waits only amid traffic: within 5 ms of the last request that custody took, or of an answer. No QP is
// created again so soon, so the missing packet, if it comes, is of the same life. When the process has stood still
// meanwhile, nobody knows how long that was, and the missing packet counts as lost.
//
// What may change while packets wait (phase, doubt, drain) is looked at when the next request or the timer comes.
#include <rte_mbuf.h>

#include <algorithm>

#include "base/fair_share.hpp"
#include "custody/near_part.hpp"
#include "flow/lifetimes.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_lt;

namespace {

// The requester has been asked to fill the gap, or will be when READs before it are answered.
bool is_asked(const NearFlow& flow) { return flow.owed.gap_nak == GapNak::owed || flow.owed.gap_nak == GapNak::sent; }

// New requests go into custody.
bool takes_custody(const NearFlow& flow) {
  return flow.phase == Phase::unconfirmed || flow.phase == Phase::confirmed || flow.phase == Phase::rejoining;
}

}  // namespace

Verdict NearPart::beyond_gap(NearFlow& flow, const wire::Frame& frame, const Span& span, rte_mbuf* mbuf, Wait wait,
                             Time now) {
  if (wait == Wait::allowed && should_wait(flow, span, now)) {
    if (const rte_mbuf* same = waiting_.find(flow.connection, WaitingKind::request, span.psn)) {
      if (same_request(same, frame)) {
        ++counters_[Counter::absorbed_queued_duplicates];
        return Verdict::drop;
      }
      doubt(flow, frame, span, now);
    } else if (has_room_to_wait(flow, flow.waiting, mbuf->pkt_len, now)) {
      keep_waiting(flow, span, mbuf, now);
      return Verdict::taken;
    }
  }
  // A requester fills a gap that it is asked for. One that only repeats packets beyond the gap has nothing before them.
  if (may_nak_gap(flow) && is_asked(flow) && psn_lt(span.psn, flow.gap_top)) doubt(flow, frame, span, now);
  if (may_nak_gap(flow) && amid_traffic(flow, now) && may_ask_for(flow, flow.tail, now)) {
    // Everything before the gap is in custody, and the responder would discard this request: the box asks for the gap
    // itself.
    if (!flow.waiting.empty() && !is_asked(flow)) ask_for_gap(flow);
    ++counters_[Counter::dropped_beyond_gap];
    const std::uint32_t end = psn_add(span.last_psn, 1);
    if (!is_asked(flow) || psn_lt(flow.gap_top, end)) flow.gap_top = end;
    note_asked(flow);
    if (!is_asked(flow)) flow.owed.gap_nak = GapNak::owed;
    return Verdict::drop;
  }
  flow.move(PhaseEvent::gap_passed);
  flow.plain_why = PlainCause::gap;
  note_leap(flow, frame, span, now);
  return pass_plain(flow, frame, span);
}

// The request skips others: those were lost before the box, or another life has begun. Where nothing is owed, answers
// must show which requester and which responder belong together now, as after a flow has begun again. That holds even
// for a flow that is never acknowledged: otherwise its answers could confirm a neighbour in step.
void NearPart::note_leap(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now) {
  if (!psn_lt(first_unused(flow), span.psn)) return;
  if (flow.owes()) return doubt(flow, frame, span, now);
  if (flow.policy == flow::Policy::off) return;
  flow.trust.silent |= kUnproven;
  send_and_let_go(flow, now);  // what passes would overtake it
}

// Custody took a request just now, or an answer came just now. No QP is created again so soon. So a request beyond a
// gap is of the same life, and a NAK reaches the right requester. (The NAK acknowledges everything before the gap.)
bool NearPart::amid_traffic(const NearFlow& flow, Time now) {
  const Time last = std::max(flow.answered_at, last_taken(flow));
  return now <= last + flow::kSoonestReuse;
}

bool NearPart::may_nak_gap(const NearFlow& flow) const {
  return flow.phase == Phase::confirmed && !flow.trust.lost() && !draining_ && !flow.doubted();
}

// ---- who waits --------------------------------------------------------------------------------

// What waits may go on waiting.
bool NearPart::may_wait(const NearFlow& flow) const {
  return takes_custody(flow) && (!flow.trust.lost() || flow.phase == Phase::rejoining) && !draining_ && !flow.doubted();
}

// Once the requester has been asked, only what it sends again waits: the network may have put that out of order, too.
// What it had sent before comes again.
bool NearPart::should_wait(const NearFlow& flow, const Span& span, Time now) const {
  if (settings_.reorder_wait == 0 || !span.known || !may_wait(flow) || !amid_traffic(flow, now)) return false;
  if (answered_unseen(flow, flow.tail) || (flow.phase == Phase::confirmed && may_have_left(flow, now))) return false;
  return !is_asked(flow) || psn_lt(span.psn, flow.gap_top);
}

bool NearPart::has_room_to_wait(const NearFlow& flow, const WaitingList& list, std::uint64_t bytes, Time now) const {
  const Holding& own = *flow.holding;
  const Holding& all = budget_.held;
  const bool contended = now < contended_until_;
  const auto fits = [&](std::uint64_t more, std::uint64_t of_pair, std::uint64_t pair_limit, std::uint64_t of_all,
                        std::uint64_t limit) {
    return of_all + more <= limit && within_share(of_pair + more, pair_limit, of_all, limit, contended);
  };
  const bool repaired = flow.pairing.bound && list.kind != WaitingKind::request;
  const std::uint32_t most = repaired ? ~std::uint32_t{0} : WaitingPackets::kMostOfFlow;
  return waiting_.has_place(list, most, own.waiting) &&
         bytes_of(flow) + 2 * bytes <= budget_.flow_bytes_limit &&  // and for what is missing
         fits(bytes, own.bytes, budget_.pair_bytes_limit, all.bytes, budget_.box_bytes_limit) &&
         fits(1, own.large_mbufs, budget_.pair_large_mbufs_limit, all.large_mbufs, budget_.large_mbufs_limit);
}

// Without a box the responder would ask a round trip later.
Duration NearPart::reorder_wait_of(const NearFlow& flow) const {
  return flow.rtt.known() ? std::min(settings_.reorder_wait, flow.rtt.minimum()) : settings_.reorder_wait;
}

void NearPart::keep_waiting(NearFlow& flow, const Span& span, rte_mbuf* mbuf, Time now) {
  keep(flow, flow.waiting, mbuf,
       {.since = now, .psn = span.psn, .last_psn = span.last_psn, .contested = flow.contested()});
  if (flow.owed.gap_nak == GapNak::none) flow.owed.gap_nak = GapNak::waits;
}

void NearPart::keep(NearFlow& flow, WaitingList& list, rte_mbuf* mbuf, const Waiting& about) {
  rte_mbuf_refcnt_update(mbuf, 1);
  waiting_.add(flow.connection, list, mbuf, about);
  for (Holding* holding : {&budget_.held, flow.holding}) {
    holding->add(mbuf->pkt_len, false);
    ++holding->waiting;
  }
  flow.deadline = std::min(flow.deadline, waiting_due(flow));
}

// The caller has the reference.
void NearPart::take_out(NearFlow& flow, WaitingList& list, rte_mbuf* mbuf) {
  waiting_.remove(flow.connection, list, mbuf);
  for (Holding* holding : {&budget_.held, flow.holding}) {
    holding->remove(mbuf->pkt_len, false);
    --holding->waiting;
  }
}

// A peer sends an answer that was lost again. What waits may be such a copy itself, so old as a copy may be. The
// requester's QPN may have another user so long after it was last heard. A first answer is no older than without boxes.
Time NearPart::due(const NearFlow& flow, const WaitingList& list) const {
  if (list.empty()) return kNever;
  const Time since = waiting_in(list.oldest).since;
  const Time in_order = since + reorder_wait_of(flow);
  if (!flow.pairing.bound || list.kind == WaitingKind::request) return in_order;
  const Time from = list.copies == 0 ? since : std::min(since, outlet_.heard_at(flow));
  return std::max(in_order, from + flow.pairing.patience);
}

Time NearPart::waiting_due(const NearFlow& flow) const { return std::min(due(flow, flow.waiting), answers_due(flow)); }

// ---- what was missing has come -----------------------------------------------------------------

// The first missing request has come. Of those that were dropped behind it the requester knows nothing yet if the NAK
// has not left, and nothing may follow that would show another gap.
void NearPart::gap_filled(NearFlow& flow, const Span& span) {
  const bool dropped = flow.owed.gap_nak == GapNak::owed && psn_lt(psn_add(span.last_psn, 1), flow.gap_top);
  if (!dropped) flow.owed.gap_nak = GapNak::none;
}

// A request has been handled while others of its flow wait. If their turn has come, they go behind it.
Verdict NearPart::after_gap(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Verdict verdict, Time now) {
  if (may_wait(flow) && next_waiting(flow) == nullptr) {
    if (flow.owed.gap_nak == GapNak::none) flow.owed.gap_nak = GapNak::waits;
    return verdict;
  }
  if (verdict == Verdict::forward) {
    // The caller may have more to do with it. The timer lets the others follow.
    if (flow.contested() || is_over(flow.phase)) return verdict;
    outlet_.pass(flow, frame, mbuf, false);
    verdict = Verdict::sent;
  }
  take_in_turn(flow, now);
  return verdict;
}

// The request whose turn it is, if it waits.
rte_mbuf* NearPart::next_waiting(const NearFlow& flow) const {
  return waiting_.find(flow.connection, WaitingKind::request, takes_custody(flow) ? flow.tail : first_unused(flow));
}

// The NAK has not left, and must not.
void NearPart::take_back_gap_nak(NearFlow& flow) {
  if (flow.owed.gap_nak == GapNak::owed) flow.owed.gap_nak = flow.waiting.empty() ? GapNak::none : GapNak::waits;
}

void NearPart::take_in_turn(NearFlow& flow, Time now) {
  if (waiting_in(flow.waiting.oldest).since <= rtt_from_) return gap_stays(flow, now);
  while (rte_mbuf* next = next_waiting(flow)) handle_again(flow, next, now);
  if (takes_custody(flow) && psn_lt(flow.late_end, flow.tail)) flow.late_end = flow.tail;
  if (flow.waiting.empty()) return;
  if (!may_wait(flow)) return let_waiting_pass(flow, now);
  if (flow.owed.gap_nak == GapNak::none) flow.owed.gap_nak = GapNak::waits;
  flow.deadline = std::min(flow.deadline, waiting_due(flow));
}

// As if it had just come.
void NearPart::handle_again(NearFlow& flow, rte_mbuf* mbuf, Time now) {
  const bool contested = waiting_in(mbuf).contested;
  take_out(flow, flow.waiting, mbuf);
  wire::Frame frame;
  wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->pkt_len}, frame);
  switch (handle(flow, frame, mbuf, Wait::no, now)) {
    case Verdict::forward:
      outlet_.pass(flow, frame, mbuf, contested);
      return;
    case Verdict::drop:
    case Verdict::taken:
      freed_.add(mbuf);
      return;
    case Verdict::sent:
      return;
  }
}

// ---- what was missing has not come --------------------------------------------------------------

void NearPart::gap_stays(NearFlow& flow, Time now) {
  const bool asks = may_nak_gap(flow) && !is_asked(flow) && amid_traffic(flow, waiting_in(flow.waiting.oldest).since) &&
                    may_ask_for(flow, flow.tail, now);
  if (asks)
    ask_for_gap(flow);
  else
    let_waiting_pass(flow, now);
}

void NearPart::ask_for_gap(NearFlow& flow) {
  std::uint32_t top = flow.tail;
  for (const rte_mbuf* mbuf = flow.waiting.oldest; mbuf != nullptr; mbuf = waiting_in(mbuf).newer)
    if (const std::uint32_t end = psn_add(waiting_in(mbuf).last_psn, 1); psn_lt(top, end)) top = end;
  drop_waiting(flow);
  flow.owed.gap_nak = GapNak::none;
  if (top == flow.tail) return;  // a READ had the PSNs of what waited
  flow.owed.gap_nak = GapNak::owed;
  flow.gap_top = top;
  note_asked(flow);
}

void NearPart::let_waiting_pass(NearFlow& flow, Time now) {
  while (!flow.waiting.empty()) handle_again(flow, flow.waiting.oldest, now);
  if (flow.owed.gap_nak == GapNak::waits) flow.owed.gap_nak = GapNak::none;
}

void NearPart::drop_waiting(NearFlow& flow) {
  while (rte_mbuf* mbuf = flow.waiting.oldest) {
    take_out(flow, flow.waiting, mbuf);
    ++counters_[Counter::dropped_beyond_gap];
    if (observer_ != nullptr)
      observer_->on_waited_in_vain(flow.identity, {rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->pkt_len});
    freed_.add(mbuf);
  }
}

}  // namespace longhaul::custody
