// SPDX-License-Identifier: BSD-3-Clause
// Is it still the same connection?
//
// QPNs are reused: a server or a device starts again, and without RDMA-CM nothing announces it. Both ends may begin at
// the same PSN as before, with the same bytes. No frame tells one life of a QP from the next, so the box never decides
// by a request. Each sign of another life starts a doubt:
//
//   - a request below una, which the responder has answered;
//   - a request whose PSN is in custody with other bytes;
//   - a requester that does not fill a gap that it was asked to fill, or that goes on beyond a gap a while after its
//     last request;
//   - a QPN that RDMA-CM announces again;
//   - a response to a READ or atomic that custody does not have at that PSN: the requester's QPN has another responder.
//
// In doubt, the box forwards all requests and all answers, says nothing to the requester, and sends nothing from
// custody again that the other life could take for its own. Unacknowledged custody is dropped: the requester still has
// it. Acknowledged custody stays, and only the responder's answers decide about it:
//
//   The requests since the doubt began are kept as runs of PSNs; of a READ, whose length is easily forged, only where
//   it begins and where it may end (NearFlow::newcomer). The responder of another life acknowledges nothing outside of
//   these requests, and completes no more messages than they have PSNs. An answer beyond either limit, at una or later,
//   and with the MSN that was counted, is of custody's life: the flow resumes. PSNs more than a quarter of the circle
//   apart have no order: an MSN then proves nothing. (Answers of a former life are no longer under way when another
//   begins: the hosts wait for that too.) An answer that fits both lives releases what it covers, which is counted and
//   logged as unconfirmed. It does not fit custody's beyond the requests that follow custody without a gap. Repeated
//   answers below una to these requests are of another life. Then, and at give_up, all custody ends as unconfirmed: its
//   requester may be gone, and a fatal NAK could reach another one.
//
// A wrong doubt costs about a round trip without acceleration. A doubt is missed only where nothing here could show it:
// the other life's requests up to the flow's next PSN were all lost before the box (docs/design.md, 4).
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "custody/answer_kind.hpp"
#include "custody/near_part.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_diff;
using wire::psn_le;
using wire::psn_lt;

namespace {

// A requester sends at most this many packets while the network delays one.
constexpr std::uint32_t kReach = 1 << 16;

// Some real stacks count a message that is under way, others do not: an MSN may be off by one.
constexpr std::int32_t kMsnSlack = 1;

// How long the box remembers something of a newcomer that does not come again.
Duration remembered(const NearFlow& flow) { return flow.give_up / 8; }

}  // namespace

// ---- requests ---------------------------------------------------------------------------------

// Compares from the BTH to the end of the padding. It ignores AckReq, which real stacks set differently in a repeat,
// and the byte that the ICRC masks (FECN, BECN). The headers before the BTH differ in each copy: rxe increments the
// IPv4 identification.
bool NearPart::same_request(const rte_mbuf* held, const wire::Frame& frame) {
  wire::Frame copy;
  const auto* bytes = rte_pktmbuf_mtod(held, const std::uint8_t*);
  if (!wire::is_roce(wire::parse({bytes, held->pkt_len}, copy))) return false;
  const std::size_t size = frame.icrc_offset - frame.bth_offset;
  if (static_cast<std::size_t>(copy.icrc_offset - copy.bth_offset) != size) return false;
  const wire::Bth& one = copy.bth();
  const wire::Bth& other = frame.bth();
  constexpr std::size_t kHeader = sizeof(wire::Bth);
  return one.opcode == other.opcode && one.flags == other.flags && one.p_key == other.p_key &&
         copy.destination_qpn() == frame.destination_qpn() && copy.psn() == frame.psn() &&
         (one.ack_req & ~wire::kBthAckReq) == (other.ack_req & ~wire::kBthAckReq) &&
         std::memcmp(copy.data + copy.bth_offset + kHeader, frame.data + frame.bth_offset + kHeader, size - kHeader) ==
             0;
}

// The requester missed what the box or the responder told it. Until it sends something new, the responder's ACKs are
// forwarded even where the box has said the same.
void NearPart::fall_behind(NearFlow& flow, Time now) {
  flow.behind = true;
  flow.repeated_at = now;
  flow.behind_at = first_unused(flow);
}

bool NearPart::is_behind(NearFlow& flow) {
  if (flow.behind && flow.behind_at != first_unused(flow)) flow.behind = false;
  return flow.behind || flow.shared();
}

// An announcement is easily forged. Alone it does not stop a failed flow from answering the next request by the fatal
// NAK.
void NearPart::announced_anew(NearFlow& flow, std::uint32_t psn, Time now) {
  if (flow.phase == Phase::failed || !begin_doubt(flow, now)) return;
  flow.newcomer.add_place(psn, now);
  hold_back(flow);
}

void NearPart::doubt(NearFlow& flow, std::uint32_t low, std::uint32_t end, Time now) {
  if (!begin_doubt(flow, now)) return;
  widen_doubt(flow, low, end, now);
  hold_back(flow);
}

void NearPart::doubt(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now) {
  if (!begin_doubt(flow, now)) return;
  widen_doubt(flow, frame, span, now);
  hold_back(flow);
}

// Returns false where there is nothing to doubt.
bool NearPart::begin_doubt(NearFlow& flow, Time now) {
  if (flow.phase == Phase::ended || (flow.policy == flow::Policy::off && !flow.owes())) return false;
  if (!flow.doubted()) {
    ++counters_[Counter::flows_doubted];
    flow.trust.silent |= kDoubted;
    note_asked(flow);
    flow.contradicted_at = flow.answered_below = 0;
    flow.newcomer.clear();
    flow.newcomer_answered = 0;
    flow.continued_to = first_unused(flow);
    flow.owed.ack_again = flow.owed.fatal_nak = false;
    take_back_gap_nak(flow);
    if (flow.answers_wait_long) drop_early_answers(flow);
    if (observer_ != nullptr) observer_->on_doubted(flow.identity, now);
  }
  // Each new sign may come from yet another life, which has not sent what an earlier one has.
  if (++flow.doubt_number == 0) ++flow.doubt_number;
  return true;
}

// When the newest request in custody came; 0: custody is empty.
Time NearPart::last_taken(const NearFlow& flow) {
  return flow.queue.empty() ? 0 : held_in(flow.queue.newest()).received_at;
}

// Keeps the time of the last request taken, for when custody is empty.
void NearPart::note_asked(NearFlow& flow) {
  if (!flow.queue.empty()) flow.asked_at = last_taken(flow);
}

void NearPart::hold_back(NearFlow& flow) {
  if (flow.phase == Phase::failed) return;
  if (flow.owes())
    drop_never_sent(flow);
  else
    let_go(flow);
}

// A newcomer's requests come from one requester, which repeats what is not answered. A request that does not come again
// while others do is not the newcomer's.
void NearPart::widen_doubt(NearFlow& flow, std::uint32_t low, std::uint32_t end, Time now) {
  if (!goes_on(flow, low)) flow.newcomer.add(low, end, now, remembered(flow));
}

// The length of a READ is easily forged.
void NearPart::widen_doubt(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now) {
  if (span.psn == flow.continued_to) flow.continued_to = end_at_most(frame, span);
  if (goes_on(flow, span.psn)) return;
  const bool read = frame.opcode != nullptr && frame.opcode->operation == wire::Operation::read_request;
  if (!read || !flow.newcomer.add_read(span.psn, frame.reth().dma_length, now, remembered(flow)))
    flow.newcomer.add(span.psn, end_at_most(frame, span), now, remembered(flow));
}

// A request directly after what custody's life has sent is another life's only if that life has come this far.
bool NearPart::goes_on(const NearFlow& flow, std::uint32_t low) {
  return low == first_unused(flow) && !flow.newcomer.may_go_on_at(low) && !flow.newcomer.empty();
}

// First PSN that the requester has not used, as far as was seen here.
std::uint32_t NearPart::first_unused(const NearFlow& flow) {
  return psn_lt(flow.tail, flow.sent_top) ? flow.sent_top : flow.tail;
}

// The responder of another life may expect any PSN of that life's requests, and the one after them. A packet before
// them is a repeat to that responder. It answers a packet beyond them by a PSN NAK, unless the newcomer comes that far
// and overtakes the packet. Answered requests do not come again, and are forgotten. What their responder expects next
// is remembered while its answers go on to say so.
bool NearPart::may_resend(const NearFlow& flow, const rte_mbuf* held, Time now) {
  if (!flow.doubted()) return true;
  if (held_in(held).vouched == flow.doubt_number) return true;  // the newcomer, if there is one, sent the same
  const std::uint32_t psn = held_in(held).psn;
  if (flow.newcomer.may_go_on_at(psn)) return false;
  // Its responses would pass for those of the newcomer's own READ.
  if (held_in(held).wants_response && flow.newcomer.may_have_response(psn)) return false;
  if (psn == flow.newcomer_next && flow.newcomer_answered != 0 && now - flow.newcomer_answered <= remembered(flow))
    return false;
  // A newcomer that was answered is alive, and may come this far at any moment. So may one that went on and waits for
  // its own timer: its responder may keep what comes out of order until then. A NIC's timer may take four times what
  // was announced.
  const bool patient = flow.contradicted_at != 0 || flow.newcomer.go_on();
  const Duration timer = std::min(4 * flow.ack_timeout, flow.give_up / 2);
  const Duration quiet = patient ? std::max({remembered(flow), kKeptBack, timer}) : kKeptBack;
  // Until then its requests may have been withheld here.
  const Time last = std::max(flow.newcomer.last_at(), flow.pairing.waits_until);
  return !flow.newcomer.may_come_to(psn, kReach) || now >= last + quiet;
}

// The answer is not of custody's life: another responder has answered everything before `end`.
void NearPart::note_newcomer_next(NearFlow& flow, std::uint32_t end, Time now) {
  const bool again = flow.newcomer_answered != 0 && flow.newcomer_next == end;
  if (!again && !flow.newcomer.may_end_at(end)) return;
  flow.newcomer_next = end;
  flow.newcomer_answered = now;
}

// The head of custody must not be sent again, so the first packet that may is sent instead. (One forged frame and an
// outage must not end a flow.)
void NearPart::ask_in_doubt(NearFlow& flow, Time now) {
  constexpr unsigned kMostLooks = 64;
  unsigned looks = 0;
  rte_mbuf* mbuf = flow.queue.head();
  while (mbuf != nullptr && (!held_in(mbuf).sent || !may_resend(flow, mbuf, now)))
    mbuf = ++looks < kMostLooks ? held_in(mbuf).next : nullptr;
  if (mbuf == nullptr || !outlet_.may_send(flow)) return;
  rte_mbuf* frame = with_ack_req(mbuf);
  if (frame != nullptr) outlet_.send_held(flow, mbuf, frame);
}

// Sending goes on with the first packet that was never sent; try_send() decides about that one.
void NearPart::skip_resends(NearFlow& flow) {
  flow.queue.skip_sent();
  flow.resend.stop();
}

// Packets that were never sent were never acknowledged either: a live requester still has them and repeats them. They
// must not go into another life once nothing holds them back any more.
void NearPart::drop_never_sent(NearFlow& flow) {
  if (flow.queue.empty() || held_in(flow.queue.newest()).sent) return;
  outlet_.settle();  // frames of the burst point at custody
  const rte_mbuf* last_sent = flow.queue.newest_sent();
  rte_mbuf* dropped = flow.queue.cut_after(last_sent);
  if (dropped == nullptr) return;
  flow.tail = held_in(dropped).psn;
  flow.msn_tail = last_sent == nullptr ? flow.msn_released : held_in(last_sent).msn;
  flow.bytes_taken = last_sent == nullptr ? flow.bytes_answered : held_in(last_sent).end_bytes;
  if (psn_lt(flow.tail, flow.resend_marks.end)) flow.resend_marks.end = flow.tail;
  if (flow.queue.first_read() == nullptr) flow.read_stall_since = 0;
  while (dropped != nullptr) {
    rte_mbuf* next = held_in(dropped).next;
    ++counters_[Counter::dropped_unsent];
    give_back(flow, dropped);
    dropped = next;
  }
  if (flow.queue.unsent() == nullptr) flow.resend.stop();
}

// Nothing in custody was acknowledged, so the requester still has it. What has not left is dropped: a doubt holds it
// back, or the requester has been asked for it.
void NearPart::let_go(NearFlow& flow) {
  flow.move(PhaseEvent::let_go);
  if (flow.queue.empty()) return;
  outlet_.settle();  // frames of the burst point at custody
  release_all(flow);
  flow.resend.stop();
  flow.tail = flow.examined_end = flow.una;
}

// The same where the requester has not been asked for anything. What waits for the pace leaves first: without a box it
// would have left when it came.
void NearPart::send_and_let_go(NearFlow& flow, Time now) {
  send_waiting(flow, UINT64_MAX, now);
  let_go(flow);
}

// ---- answers ----------------------------------------------------------------------------------

// What was counted of the messages before `end`. Beyond custody each PSN may have ended one more.
std::optional<NearPart::Counted> NearPart::counted_before(const NearFlow& flow, std::uint32_t end) const {
  if (flow.queue.empty()) return Counted{flow.msn_released, flow.una};
  const std::uint32_t last = psn_add(end, -1);
  if (flow.queue.spans(last)) {
    const auto messages = messages_before(flow, end);
    return messages ? std::optional(Counted{*messages, end}) : std::nullopt;
  }
  const Held& newest = held_in(flow.queue.newest());
  return psn_lt(newest.last_psn, last) ? Counted{newest.msn, flow.tail} : Counted{flow.msn_released, end};
}

// `msn`, of an answer that acknowledges everything before `end`, matches what was counted up to there.
bool NearPart::agrees(const NearFlow& flow, std::uint32_t end, std::uint32_t msn) const {
  const auto counted = counted_before(flow, end);
  if (!counted) return false;
  const std::int32_t more = psn_diff(msn, psn_add(flow.msn_base, counted->messages));
  return more >= -kMsnSlack && more <= kMsnSlack + std::max(0, psn_diff(end, counted->end));
}

// An answer beyond custody, with fewer messages than custody has: that of one's own life may only run ahead. Another
// life's requests have passed as repeats of what custody does not have.
bool NearPart::is_of_another(const NearFlow& flow, std::uint32_t end, std::uint32_t msn) const {
  if (flow.queue.empty() || psn_le(end, flow.tail)) return false;
  const auto counted = counted_before(flow, end);
  return counted && psn_diff(msn, psn_add(flow.msn_base, counted->messages)) < -kMsnSlack;
}

// A response to a READ or atomic that custody has. Its MSN, where it has one, may run ahead of its request, but not
// behind.
bool NearPart::is_of_another(const NearFlow& flow, const Held& read, const wire::Frame& response) {
  return response.opcode->has(wire::kHasAeth) &&
         psn_diff(response.aeth().msn, psn_add(flow.msn_base, read.msn)) < -kMsnSlack;
}

// Its MSN does not match: it releases nothing, and its requester may be waiting for it.
Verdict NearPart::disagreed(NearFlow& flow, std::uint32_t end, std::uint32_t msn, Time now) {
  ++counters_[Counter::answers_disagreed];
  if (is_of_another(flow, end, msn) && !flow.doubted()) doubt(flow, flow.tail, first_unused(flow), now);
  return Verdict::forward;
}

// Messages that end before `end`; the PSN before `end` is in custody's range. Nothing acknowledges a part of a READ, so
// within a READ other than the oldest there may be no answer.
std::optional<std::uint32_t> NearPart::messages_before(const NearFlow& flow, std::uint32_t end) const {
  const std::uint32_t last = psn_add(end, -1);
  if (const rte_mbuf* mbuf = find(flow, last))
    return psn_add(held_in(mbuf).msn, held_in(mbuf).last_psn == last ? 0 : -1);
  // Before it comes a later READ, which find() does not know by its end.
  const rte_mbuf* next = end == flow.tail ? nullptr : find(flow, end);
  if (next == nullptr) return end == flow.tail ? std::optional(held_in(flow.queue.newest()).msn) : std::nullopt;
  wire::Frame frame;
  const bool parsed = wire::is_roce(wire::parse({rte_pktmbuf_mtod(next, const std::uint8_t*), next->pkt_len}, frame));
  return psn_add(held_in(next).msn, parsed && frame.opcode != nullptr && frame.opcode->ends_message() ? -1 : 0);
}

// No other life that the doubt allows can have acknowledged everything before `end`.
bool NearPart::proves(const NearFlow& flow, const wire::Frame& frame, std::uint32_t end, Time now) const {
  const std::uint32_t msn = frame.aeth().msn;
  if (psn_lt(end, flow.una) || !agrees(flow, end, msn)) return false;
  // Beyond tail nothing of custody's life is known, only requests of the doubt.
  if (flow.phase != Phase::failed && psn_lt(flow.tail, end)) return false;
  // Outside of its requests, a newcomer's responder acknowledges only what lies before them, and with MSN 0.
  const auto lowest = flow.newcomer.lowest();
  const std::int32_t most = lowest ? psn_diff(end, *lowest) : 0;
  const bool outside = !flow.newcomer.may_end_at(end) && ((lowest && most <= 0) || !flow.newcomer.forgot());
  if (outside && !newcomer_speaks(flow, now)) return msn > 0;
  return most > 0 && static_cast<std::int32_t>(msn) > most + kMsnSlack;
}

// A newcomer's responder speaks just now. It may have kept a packet that custody sent again before anything of the
// newcomer came here, so an answer to that packet proves nothing.
bool NearPart::newcomer_speaks(const NearFlow& flow, Time now) {
  return flow.answered_below != 0 && now - flow.answered_below < apart(flow);
}

// Late copies of an answer come within this time.
Duration NearPart::apart(const NearFlow& flow) { return std::max(kKeptBack, 2 * flow.rtt.minimum()); }

// A response to the oldest READ or atomic in custody. Only some responses carry an MSN, and it may run ahead.
bool NearPart::response_proves(const NearFlow& flow, const wire::Frame& frame, Time now) {
  const rte_mbuf* read = flow.queue.first_read();
  if (read == nullptr || !held_in(read).sent) return false;
  const Held& held = held_in(read);
  if (psn_lt(frame.psn(), held.psn) || psn_lt(held.last_psn, frame.psn())) return false;
  if (is_of_another(flow, held, frame)) return false;
  const bool outside = !flow.newcomer.may_have_response(frame.psn()) && !flow.newcomer.forgot();
  if (outside && !newcomer_speaks(flow, now)) return true;
  const auto lowest = flow.newcomer.lowest();
  if (!frame.opcode->has(wire::kHasAeth) || !lowest) return false;
  const auto msn = static_cast<std::int32_t>(std::uint32_t{frame.aeth().msn});
  return psn_diff(frame.aeth().msn, psn_add(flow.msn_base, held.msn)) >= -kMsnSlack &&
         msn > std::max(0, psn_diff(psn_add(held.last_psn, 1), *lowest)) + kMsnSlack;
}

// Judges an answer to a doubted flow. Returns true when the answer is to be handled as usual. Otherwise it changes
// nothing more, and goes to the requester.
bool NearPart::resolve(NearFlow& flow, const wire::Frame& frame, Time now) {
  if (!is_acknowledge(frame)) {
    note_unasked(flow, frame, now);
    // With nothing owed, READs in custody would stay there for ever if their responses were not handled.
    if (flow.phase != Phase::failed && !flow.owes()) return true;
    if (!response_proves(flow, frame, now) || outlet_.may_have_moved(flow, frame.psn(), flow.asked_at)) {
      note_newcomer_next(flow, psn_add(frame.psn(), 1), now);
      return false;
    }
    resume(flow, now);
    return flow.phase != Phase::failed;
  }
  if (wire::aeth_kind(frame.aeth().syndrome) == wire::AethKind::reserved) return false;
  const std::uint32_t end = acknowledged_end(frame);
  const std::uint32_t msn = frame.aeth().msn;
  const bool ack = wire::aeth_kind(frame.aeth().syndrome) == wire::AethKind::ack;
  const bool of_newcomer = ack && flow.newcomer.may_end_at(end);

  if (flow.phase != Phase::failed && !flow.owes()) {
    // Nothing is at stake. The flow follows a new life from where its responder answers.
    if (of_newcomer && psn_lt(end, flow.una) && flow.queue.empty() && flow.phase == Phase::plain) {
      begin_again(flow, end, msn, now);
      return false;
    }
    return true;
  }
  // Of a failed flow: a responder that refused a request is in error and silent. No responder repeats its last ACK to a
  // requester that asks for what follows, or answers when nobody has asked for a long time.
  const bool of_another =
      flow.phase == Phase::failed && (flow.failure.refused || flow.failure.told_enough() || (ack && end == flow.una) ||
                                      now - flow.newcomer.last_at() > patience_of(flow));
  const bool proof = !of_another && proves(flow, frame, end, now);
  if (proof && !outlet_.may_have_moved(flow, frame.psn(), flow.asked_at)) {
    resume(flow, now);
    return flow.phase != Phase::failed;
  }
  if (!proof) note_newcomer_next(flow, end, now);
  if (psn_lt(end, flow.una)) {
    if (of_newcomer || (!ack && flow.newcomer.lowest() == end)) flow.answered_below = now;
    if (flow.contradicted_at == 0) {
      flow.contradicted_at = now;
    } else if (of_newcomer && now - flow.contradicted_at >= apart(flow)) {
      end_unconfirmed(flow, now);
      begin_again(flow, end, msn, now);
    }
    return false;
  }
  // A responder without receives is alive, and waits for the next packet of custody. give_up does not count that time.
  if (wire::aeth_kind(frame.aeth().syndrome) == wire::AethKind::rnr_nak && end == flow.una && agrees(flow, end, msn))
    lives(flow, now);
  // It fits both lives: nobody can tell any more whether what it covers arrived. Beyond what follows custody without a
  // gap it does not: custody's responder takes nothing behind a gap, and a forged ACK may have any PSN.
  if (flow.phase != Phase::failed && psn_lt(flow.una, end) && psn_le(end, flow.continued_to) &&
      agrees(flow, end, msn)) {
    count_unconfirmed(flow, psn_lt(end, flow.h) ? end : flow.h, now);
    release_before(flow, end, now);
    if (flow.record != nullptr) flow.record->answered(flow.bytes_answered);
    if (!flow.owes()) let_go(flow);
  }
  return false;
}

// At the response's PSN custody has no READ or atomic, or a READ whose responses begin elsewhere. So another life or
// connection of the requester's QPN has sent a READ or atomic there.
void NearPart::note_unasked(NearFlow& flow, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  if (flow.queue.empty() || psn_lt(psn, flow.una) || !psn_lt(psn, flow.tail)) return;
  const rte_mbuf* mbuf = flow.queue.first_read();
  if (mbuf == nullptr || psn_lt(psn, held_in(mbuf).psn) || psn_lt(held_in(mbuf).last_psn, psn)) mbuf = find(flow, psn);
  const auto position = frame.opcode->position;
  const bool begins = position == wire::Position::first || position == wire::Position::only;
  std::uint32_t end = psn_add(psn, 1);
  if (mbuf == nullptr) {
    // Within a later READ, where no response begins; or custody does not have this part.
    if (!begins || !flow.queue.spans(psn)) return;
  } else {
    const Held& held = held_in(mbuf);
    if (held.wants_response && (held.shortened || held.is_atomic || begins == (psn == held.psn))) return;
    end = psn_add(held.last_psn, 1);
  }
  if (flow.doubted())
    widen_doubt(flow, psn, end, now);
  else
    doubt(flow, psn, end, now);
}

void NearPart::resume(NearFlow& flow, Time now) {
  // A requester of a failed flow that repeats from una or before has that data itself: the responder goes on with it.
  // One that repeats only from beyond una waits for lost data, and is told now.
  if (flow.phase == Phase::failed) {
    const auto asked = flow.newcomer.lowest();
    if (!asked || !psn_lt(flow.una, *asked)) return;
    flow.failure.psn = psn_lt(*asked, flow.h) ? *asked : flow.h;
    flow.owed.fatal_nak = true;
  }
  end_contest(flow, kDoubted | kRepeated);
  flow.late_end = flow.tail;
  ++counters_[Counter::flows_resumed];
  if (observer_ != nullptr) observer_->on_resumed(flow.identity, now);
  if (flow.queue.unsent() == nullptr) flow.deadline = std::min(flow.deadline, now);
}

void NearPart::end_contest(NearFlow& flow, std::uint8_t signs) {
  const bool contested = flow.contested();
  flow.trust.silent &= static_cast<std::uint8_t>(~signs);
  if (contested && !flow.contested()) outlet_.uncontested(flow);
}

// The responder of another life has answered everything before `una`, so the flow goes on as after any stretch of plain
// RoCE. Answers must still show which requester and which responder belong together now: two connections may have come
// back crosswise, in step.
void NearPart::begin_again(NearFlow& flow, std::uint32_t una, std::uint32_t msn, Time now) {
  if (flow.phase == Phase::failed) {
    count_untold(flow, now);
    // The slot stays this connection's, which now owes nothing.
    if (flow.record != nullptr) {
      flow.record->open(flow.record->connection());
      flow.record->answered(flow.bytes_answered);
    }
    flow.failure = Failure{};
  }
  ++counters_[Counter::flows_began_again];
  if (observer_ != nullptr) observer_->on_began_again(flow.identity, now);
  outlet_.began_again(flow);
  flow.trust.silent = kUnproven;
  flow.move(PhaseEvent::began_again);
  flow.una = flow.h = flow.tail = flow.examined_end = una;
  flow.sent_top = flow.late_end = flow.newcomer.top_from(una);
  flow.msn_h = msn;
  flow.trust.msn_known = flow.behind = false;
  flow.trust.standing = Standing::trusted;
  flow.resend.stop();
  flow.owed.repair_nak = false;
  flow.hold_until = 0;
  flow.deadline = waiting_due(flow);
}

// Counts the packets of custody before `end`. There are some, and they were acknowledged: so no READ is among them.
void NearPart::count_unconfirmed(const NearFlow& flow, std::uint32_t end, Time now) {
  std::uint64_t packets = flow.queue.packets();
  std::uint64_t bytes = flow.queue.bytes();
  const rte_mbuf* next = find(flow, end);
  // A READ that was asked for again from the middle begins later than it did.
  if (next == nullptr && psn_lt(end, flow.tail)) next = flow.queue.first_read();
  if (next != nullptr) {
    packets = flow.queue.packets_before(next);
    bytes = held_in(next).end_bytes - next->pkt_len - flow.bytes_answered;
  }
  counters_[Counter::unconfirmed_in_doubt_packets] += packets;
  counters_[Counter::unconfirmed_in_doubt_bytes] += bytes;
  if (observer_ != nullptr) observer_->on_unconfirmed_in_doubt(flow.identity, packets, bytes, now);
}

// Custody ends, and nobody can say whether its packets arrived.
void NearPart::end_unconfirmed(NearFlow& flow, Time now) {
  if (flow.phase == Phase::failed) return;
  if (flow.owes()) count_unconfirmed(flow, flow.h, now);
  outlet_.settle();
  end_custody(flow, PhaseEvent::undecided);
  if (flow.record != nullptr) flow.record->answered(flow.bytes_answered);
  const std::uint32_t top = psn_lt(flow.h, flow.tail) ? flow.tail : flow.h;
  flow.una = flow.h = flow.tail = flow.examined_end = top;
  if (psn_lt(flow.sent_top, top)) flow.sent_top = top;
  flow.resend.stop();
  flow.hold_until = 0;
}

}  // namespace longhaul::custody
