// SPDX-License-Identifier: BSD-3-Clause
// READ responses that come out of order, and answers that have overtaken them.
//
// An answer beyond the next response of the oldest READ or atomic in custody (a later response, one to a later READ, an
// ACK, a NAK) may have overtaken what is missing. So it waits, as requests do (reorder.cpp), and for as long; or
// longer, where a peer sends again what was lost (relay/answer_order.hpp):
//
//   the response comes   it goes to the requester, and those that waited follow: responses in the order of their PSNs,
//                        the others as soon as no unfinished READ is before them. A requester that goes back would ask
//                        for the READ again otherwise, and the box would not see the READ end.
//   it does not come     all go to the requester as they came: it sees the gap, as it would without a box. What follows
//                        does not wait for the same response again.
//   a doubt, or the end  what waited for a peer is dropped: a round trip is long enough for another life to begin.
//
// A round trip's worth may have waited. So those that can go on do so kAtOnce at a time, as fast as the requester's
// port takes them; what comes meanwhile waits behind them (NearFlow::answers_follow_at).
//
// READs that end out of sight. A requester that places what comes out of order has a READ that has not ended here.
// Two answers tell such a requester that the responder has gone on, and one that goes back that a response is lost
// (an implied NAK, in IBTA's words): an ACK beyond the READ (answer.cpp), and a response to a later READ. Both go
// to the requester. If it lacks a response, it asks again. If it does not within a retransmission timeout
// (NearFlow::passed_at), the READ is finished. The third sign is that all responses have passed here, some of them
// late. A requester that goes back has dropped those that came early, and may notice only when its own timer ends. So
// here the box waits for longer than that.
//
// A READ that was asked for again, or sent again, has two answers under way: then the second and the third sign show
// nothing.
#include <rte_mbuf.h>

#include <algorithm>

#include "custody/answer_kind.hpp"
#include "custody/near_part.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_le;
using wire::psn_lt;

namespace {

constexpr unsigned kAtOnce = 256;

WaitingList& list_for(NearFlow& flow, const wire::Frame& answer) {
  return is_acknowledge(answer) ? flow.early_acknowledges : flow.early_responses;
}

// An ACK, not a NAK.
bool answers_by_ack(const rte_mbuf* acknowledge) {
  wire::Frame frame;
  wire::parse({rte_pktmbuf_mtod(acknowledge, const std::uint8_t*), acknowledge->pkt_len}, frame);
  return is_ack(frame);
}

}  // namespace

// A READ or atomic is in custody.
Verdict NearPart::answer_beside_read(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Time now) {
  const auto none_waits = [&] { return flow.early_responses.empty() && flow.early_acknowledges.empty(); };
  const WaitingList& list = list_for(flow, frame);
  rte_mbuf* there = list.empty() ? nullptr : waiting_.find(flow.connection, list.kind, frame.psn());
  Time since = now;
  if (there != nullptr && came_twice(flow, there, frame, since)) return Verdict::drop;
  if (overtakes(flow, frame)) {
    if (keep_answer(flow, frame, mbuf, since, now)) return Verdict::taken;
    // The peer sends a response again, and there may be room then. It keeps no NAKs, and only the last ACK.
    if (flow.pairing.bound && !is_acknowledge(frame) && !none_waits()) {
      outlet_.response_dropped(flow, frame.psn());
      ++counters_[Counter::dropped_early_full];
      return Verdict::drop;
    }
    if (flow.pairing.bound) let_answers_pass(flow, now);
    if (flow.queue.first_read() == nullptr) return handle_answer(flow, frame, now);
  }
  const rte_mbuf* read = flow.queue.first_read();
  const std::uint32_t next = flow.read_next;
  const Verdict verdict = handle_answer(flow, frame, now);
  if (none_waits() || (read == flow.queue.first_read() && next == flow.read_next)) return verdict;
  // What waited follows the answer, so the answer goes first.
  if (verdict == Verdict::forward) outlet_.pass_answer(mbuf);
  answers_in_turn(flow, now);
  return verdict == Verdict::forward ? Verdict::sent : verdict;
}

// An answer to what was never sent, or in a doubt, is handled as it comes.
bool NearPart::overtakes(const NearFlow& flow, const wire::Frame& frame) const {
  if ((settings_.reorder_wait == 0 && !flow.pairing.bound) || flow.read_gap == flow.read_next) return false;
  if (is_over(flow.phase) || flow.doubted() || flow.shared()) return false;
  const Held& read = held_in(flow.queue.first_read());
  const std::uint32_t psn = frame.psn();
  if (!read.sent || psn_le(flow.sent_top, psn) || !psn_lt(psn, flow.tail)) return false;
  if (!is_acknowledge(frame)) return psn_lt(flow.read_next, psn);
  return wire::aeth_kind(frame.aeth().syndrome) != wire::AethKind::reserved &&
         psn_lt(flow.read_next, acknowledged_end(frame));
}

// Whether the answer need not go on, because the same one waits already. A READ that was executed again may bring other
// bytes, and an ACK other credits: then what waited goes, and the new one has waited since.
bool NearPart::came_twice(NearFlow& flow, rte_mbuf* there, const wire::Frame& frame, Time& since) {
  const bool same = same_request(there, frame);
  if (!same && is_acknowledge(frame) && !(is_ack(frame) && answers_by_ack(there))) return false;
  note_repeated(flow, Counter::absorbed_early_repeats);
  if (same) return true;
  since = waiting_in(there).since;
  take_out(flow, list_for(flow, frame), there);
  freed_.add(there);
  return false;
}

bool NearPart::keep_answer(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Time since, Time now) {
  WaitingList& list = list_for(flow, frame);
  const std::uint32_t psn = frame.psn();
  if (waiting_.find(flow.connection, list.kind, psn) != nullptr || !has_room_to_wait(flow, list, mbuf->pkt_len, now))
    return false;
  const std::uint32_t last = is_acknowledge(frame) ? psn_add(acknowledged_end(frame), -1) : psn;
  if (flow.early_responses.empty() && flow.early_acknowledges.empty()) flow.answers_wait_long = false;
  flow.answers_wait_long |= flow.pairing.bound;
  const bool copy = flow.pairing.bound && (is_acknowledge(frame) || outlet_.may_be_copy(flow, psn));
  keep(flow, list, mbuf, {.since = since, .psn = psn, .last_psn = last, .copy = copy});
  ++counters_[Counter::answers_waited];
  if (flow.pairing.bound && !is_acknowledge(frame)) outlet_.response_waits(flow, psn);
  return true;
}

// The answer whose turn it is, if it waits. ACKs and NAKs in the order in which they came: what one says, a later one
// says too.
rte_mbuf* NearPart::next_answer(const NearFlow& flow) const {
  rte_mbuf* oldest = flow.early_acknowledges.oldest;
  if (oldest != nullptr && !psn_le(flow.read_next, waiting_in(oldest).last_psn)) return oldest;
  return waiting_.find(flow.connection, WaitingKind::response, flow.read_next);
}

void NearPart::answers_in_turn(NearFlow& flow, Time now) {
  flow.answers_follow_at = kNever;
  for (unsigned i = 0;; ++i) {
    if (flow.queue.first_read() == nullptr || flow.doubted()) return let_answers_pass(flow, now);
    rte_mbuf* next = next_answer(flow);
    if (next == nullptr) return;
    if (i == kAtOnce || !outlet_.host_takes()) return follow_later(flow, now);
    answer_again(flow, next, now);
  }
}

// The timer lets the others follow.
void NearPart::follow_later(NearFlow& flow, Time now) {
  constexpr Duration kSoon = microseconds(10);
  flow.answers_follow_at = now + kSoon;
  flow.deadline = std::min(flow.deadline, flow.answers_follow_at);
}

// answers_due() has come.
void NearPart::answers_turn(NearFlow& flow, Time now) {
  const bool in_turn = flow.answers_follow_at != kNever && flow.read_gap != flow.read_next;
  if (in_turn && flow.queue.first_read() != nullptr)
    answers_in_turn(flow, now);
  else
    let_answers_pass(flow, now);
}

// As if it had just come.
void NearPart::answer_again(NearFlow& flow, rte_mbuf* mbuf, Time now) {
  wire::Frame frame;
  wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->pkt_len}, frame);
  take_out(flow, list_for(flow, frame), mbuf);
  outlet_.settle();  // it may release what was sent just now
  if (handle_answer(flow, frame, now) == Verdict::forward)
    outlet_.pass_answer(mbuf);
  else
    freed_.add(mbuf);
}

// In the order in which they came. Others do not wait for the same response again.
void NearPart::let_answers_pass(NearFlow& flow, Time now) {
  if (flow.doubted() && flow.answers_wait_long) return drop_early_answers(flow);
  flow.answers_follow_at = kNever;
  if (flow.queue.first_read() != nullptr) flow.read_gap = flow.read_next;
  if (flow.pairing.bound) outlet_.answers_go_on(flow);
  for (unsigned i = 0; !flow.early_responses.empty() || !flow.early_acknowledges.empty(); ++i) {
    if (i == kAtOnce || !outlet_.host_takes()) return follow_later(flow, now);
    const auto since = [](const WaitingList& list) { return list.empty() ? kNever : waiting_in(list.oldest).since; };
    WaitingList& list =
        since(flow.early_responses) <= since(flow.early_acknowledges) ? flow.early_responses : flow.early_acknowledges;
    if (flow.read_gap == flow.read_next) ++counters_[Counter::answers_waited_in_vain];
    answer_again(flow, list.oldest, now);
  }
}

// Custody has ended, and nothing depends on these answers any more.
void NearPart::pass_early_answers(NearFlow& flow) {
  if (flow.answers_wait_long) return drop_early_answers(flow);
  flow.answers_follow_at = kNever;
  for (WaitingList* list : {&flow.early_responses, &flow.early_acknowledges})
    while (rte_mbuf* mbuf = list->oldest) {
      take_out(flow, *list, mbuf);
      ++counters_[Counter::answers_forwarded];
      outlet_.pass_answer(mbuf);
    }
}

// They have waited so long that the requester's queue pair may live another life, for which they are wrong. A requester
// that is still here asks again.
void NearPart::drop_early_answers(NearFlow& flow) {
  flow.answers_follow_at = kNever;
  if (flow.pairing.bound) outlet_.answers_go_on(flow);
  for (WaitingList* list : {&flow.early_responses, &flow.early_acknowledges})
    while (rte_mbuf* mbuf = list->oldest) {
      take_out(flow, *list, mbuf);
      ++counters_[Counter::dropped_other_life];
      freed_.add(mbuf);
    }
}

// ---- READs that end out of sight ------------------------------------------------------------------

// With the responses that went ahead, all of the oldest READ may have passed, and of READs behind it.
void NearPart::note_caught_up(NearFlow& flow, Time now) {
  if (flow.ahead.empty()) return;
  const rte_mbuf* read = flow.queue.first_read();
  const std::uint32_t end = flow.ahead.missing_from(flow.read_next);
  if (read == nullptr || held_in(read).resent || !psn_lt(held_in(read).last_psn, end)) return;
  // A NIC's timer may take four times what was announced, and an end may have a timer of its own, longer than the one
  // that RDMA-CM told. NCCL's is 4.3 s, UCX's 1 s, perftest's 67 ms.
  constexpr Duration kLeast = seconds(5);
  const Duration timer = std::max(kLeast, 4 * flow.ack_timeout);
  note_passed(flow, end, now + timer);
}

// A response to a READ behind the oldest one: the requester sees that responses to that one are missing, or has them.
void NearPart::note_later_read(NearFlow& flow, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  const rte_mbuf* oldest = flow.queue.first_read();
  const rte_mbuf* later = find(flow, psn);
  if (later == nullptr || later == oldest || !held_in(later).wants_response || !held_in(later).sent) return;
  if (flow.contested() || flow.shared() || held_in(oldest).resent) return;
  if (flow.owes() && (!frame.opcode->has(wire::kHasAeth) || is_of_another(flow, held_in(later), frame))) return;
  flow.ahead.add(psn);
  release_before(flow, held_in(oldest).psn, now);
  note_passed(flow, held_in(later).psn, now);
}

}  // namespace longhaul::custody
