// SPDX-License-Identifier: BSD-3-Clause
// What comes back from the responder, reconciled with what the requester was told (design section 6).
#include <rte_mbuf.h>

#include <algorithm>

#include "custody/answer_kind.hpp"
#include "custody/buffers.hpp"
#include "custody/near_part.hpp"
#include "custody/rnr_timer.hpp"
#include "wire/credits.hpp"
#include "wire/path_mtu.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_le;
using wire::psn_lt;

namespace {

// Far more than random losses of one packet explain.
constexpr std::uint8_t kMostVainNaks = 64;

// A responder whose MSNs go on to disagree counts in its own way, and learning it again is in vain.
constexpr std::uint8_t kMostDisagreements = 16;

// Whether `response` at `psn` can answer the request in `held`. An atomic has a response of its own. The first response
// to a READ begins it, and the last ends it. Once the requester has asked for the tail of a READ, it is not known where
// the responses begin.
bool fits(const wire::OpcodeInfo& response, std::uint32_t psn, const Held& held) {
  if (response.operation == wire::Operation::atomic_response) return held.is_atomic;
  const bool begins = response.position == wire::Position::first || response.position == wire::Position::only;
  const bool ends = response.position == wire::Position::last || response.position == wire::Position::only;
  return !held.is_atomic && ends == (psn == held.last_psn) && (begins == (psn == held.psn) || held.shortened);
}

// An ACK of exactly the oldest packet in custody, with the MSN that was counted: the usual case of agrees().
bool answers_head(const NearFlow& flow, std::uint32_t psn, std::uint32_t msn) {
  const rte_mbuf* head = flow.queue.head();
  return head != nullptr && held_in(head).last_psn == psn && psn_add(flow.msn_base, held_in(head).msn) == msn;
}

}  // namespace

Verdict NearPart::answer(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Time now) {
  // Nothing is out of turn without a READ, or at its next response.
  const bool next_response = frame.psn() == flow.read_next && !is_ack(frame) && flow.early_responses.empty() &&
                             flow.early_acknowledges.empty();
  if (flow.queue.first_read() == nullptr || next_response) [[likely]]
    return handle_answer(flow, frame, now);
  return answer_beside_read(flow, frame, mbuf, now);
}

Verdict NearPart::handle_answer(NearFlow& flow, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  if (is_over(flow.phase)) {
    if (flow.phase == Phase::failed) {
      if (flow.doubted())
        resolve(flow, frame, now);
      else
        follow_failed(flow, frame);
    }
    ++counters_[Counter::answers_forwarded];
    return Verdict::forward;
  }
  if (flow.path_mtu == 0) flow.path_mtu = wire::path_mtu_shown_by(frame);
  if (psn_le(flow.sent_top, psn)) {
    ++counters_[Counter::answers_not_sent];
    note_unseen(flow, frame);
    ++counters_[Counter::answers_forwarded];
    return Verdict::forward;
  }
  if (flow.contested()) [[unlikely]] {
    // Until the peer has heard that another life may have begun, this may be its copy of what was said in the former.
    // Requests of the new one wait meanwhile, so it is not for them.
    if (flow.pairing.waits(now)) {
      ++counters_[Counter::dropped_for_peer];
      return Verdict::drop;
    }
    note_beyond_custody(flow, frame);
    if (flow.doubted() && !resolve(flow, frame, now)) {
      ++counters_[Counter::answers_forwarded];
      return Verdict::forward;
    }
  }
  // An old answer may be anybody's: to forge it, nobody needs to know what is under way.
  if (!flow.ack.resembles(frame.data, AckTemplate::source_of(frame)) && psn_le(flow.una, psn))
    flow.ack.learn_from_answer(frame);

  Verdict verdict = Verdict::forward;
  if (frame.opcode->operation != wire::Operation::acknowledge) {
    verdict = response(flow, frame, now);
  } else {
    const std::uint8_t syndrome = frame.aeth().syndrome;
    const std::uint8_t value = wire::aeth_value(syndrome);
    switch (wire::aeth_kind(syndrome)) {
      case wire::AethKind::ack:
        verdict = ack(flow, frame, now);
        break;
      case wire::AethKind::rnr_nak:
        ++counters_[Counter::real_naks];
        verdict = rnr_nak(flow, frame, now);
        break;
      case wire::AethKind::nak:
        ++counters_[Counter::real_naks];
        if (value == static_cast<std::uint8_t>(wire::NakCode::psn_sequence_error))
          verdict = psn_nak(flow, frame, now);
        else if (value <= static_cast<std::uint8_t>(wire::NakCode::invalid_rd_request))
          verdict = fatal_nak(flow, frame, now);
        else
          verdict = unknown_nak(flow, frame, now);
        break;
      case wire::AethKind::reserved:
        break;
    }
  }
  if (verdict == Verdict::forward) ++counters_[Counter::answers_forwarded];
  // What a failed flow dropped was not answered.
  if (flow.record != nullptr && flow.phase != Phase::failed) flow.record->answered(flow.bytes_answered);
  if (armed_late(flow, now)) arm(flow, now);
  return verdict;
}

// The answer is for requests that did not pass here; a NAK answers those before its PSN. Answers may come out of order.
void NearPart::note_unseen(NearFlow& flow, const wire::Frame& frame) {
  const bool nak = is_acknowledge(frame) && !is_ack(frame);
  const std::uint32_t end = nak ? frame.psn() : psn_add(frame.psn(), 1);
  if (!answered_unseen(flow, end)) flow.unseen_end = end;
}

// unseen_end stays, and on the circle a PSN long past comes to lie ahead again: so it must be plausible.
bool NearPart::answered_unseen(const NearFlow& flow, std::uint32_t psn) {
  return flow.unseen_end != NearFlow::kNoPsn && psn_lt(psn, flow.unseen_end) && plausible(flow, flow.unseen_end);
}

// A requester that heard the responder itself (while no box was there, or by an answer that was under way) ignores a
// fatal NAK for what the responder has acknowledged. So the fatal NAK follows the responder's ACKs. It does not follow
// an ACK beyond what the requester has sent here: the requester ignores that ACK, but would later believe a fatal NAK
// that repeats it.
void NearPart::follow_failed(NearFlow& flow, const wire::Frame& frame) {
  if (!is_ack(frame) || psn_lt(frame.psn(), flow.h) || psn_le(flow.sent_top, frame.psn())) return;
  flow.h = flow.failure.psn = psn_add(frame.psn(), 1);
  flow.msn_h = frame.aeth().msn;
  if (psn_lt(flow.tail, flow.h)) flow.tail = flow.h;
}

// An answer to what is answered already: a repeat, which the requester ignores, the answer to a repeated request, or
// one for another connection that now uses the requester's QPN. Nothing here depends on it.
Verdict NearPart::stale() {
  ++counters_[Counter::answers_stale];
  return Verdict::forward;
}

// An answer below una, without a recent repeat of the request and too late for a straggler: it may be another
// connection's, whose requester has the same QPN. A response, or the last ACK once more, is not `certain`: it may still
// answer a repeat, so it changes nothing while something is owed.
void NearPart::note_stray(NearFlow& flow, bool certain, Time now) {
  if (flow.queue.empty() || (flow.trust.silent & ~kRepeated) != 0 || answered_lately(flow, now)) return;
  if (!flow.owes())
    send_and_let_go(flow, now);
  else if (certain)
    flow.trust.silent |= kShared;
}

// The answer fits custody, and may be the other connection's: what it releases is counted as unconfirmed.
void NearPart::share(NearFlow& flow, std::uint32_t end, Time now) {
  if (!flow.owes())
    flow.trust.silent &= ~kShared;
  else if (psn_lt(flow.una, end))
    count_unconfirmed(flow, psn_lt(end, flow.h) ? end : flow.h, now);
}

Verdict NearPart::shared_nak(NearFlow& flow, std::uint32_t end, Time now) {
  share(flow, end, now);
  release_before(flow, end, now);
  return Verdict::forward;
}

// The responder answers without progress: give_up counts from here.
void NearPart::lives(NearFlow& flow, Time now) { flow.unanswered_since = now; }

// A responder may repeat its last ACK, to announce receives (IBTA vol. 1, 9.7.7.2.4), or send it after a NAK.
bool NearPart::is_last_ack(const NearFlow& flow, const wire::Frame& frame) const {
  return frame.opcode != nullptr && is_ack(frame) && psn_add(frame.psn(), 1) == flow.una &&
         agrees(flow, flow.una, frame.aeth().msn);
}

Verdict NearPart::ack_below(NearFlow& flow, const wire::Frame& frame, Time now) {
  const wire::Aeth& aeth = frame.aeth();
  const std::uint64_t receives = flow.receive_limit;
  const bool last = is_last_ack(flow, frame);
  if (last) note_credits(flow, aeth, Verdict::forward);
  if (flow.receive_limit == receives) note_stray(flow, !last, now);
  if (last) lives(flow, now);
  return stale();
}

Verdict NearPart::ack(NearFlow& flow, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  const wire::Aeth& aeth = frame.aeth();
  ++counters_[Counter::real_acks];
  if (observer_ != nullptr)
    observer_->on_real_ack(flow.identity, {frame.destination_qpn(), psn, aeth.msn, aeth.syndrome, frame.bth().p_key},
                           flow.phase == Phase::confirmed, flow.h, now);
  // The responder answers in order: the repeated READ is answered, or this ACK tells the requester that its response
  // was lost.
  bool ends_wait = false;
  if ((flow.trust.silent & kReadAgain) != 0 && psn_le(flow.read_again_last, psn)) [[unlikely]] {
    ends_wait = true;
    flow.trust.silent &= ~kReadAgain;
  }
  if (psn_lt(psn, flow.una)) return ack_below(flow, frame, now);
  if (flow.phase != Phase::confirmed || !answers_head(flow, psn, aeth.msn)) [[unlikely]] {
    if (flow.owes() && !agrees(flow, psn_add(psn, 1), aeth.msn)) return disagreed(flow, psn_add(psn, 1), aeth.msn, now);
    if (!flow.owes() && comes_late(flow, psn, now)) send_and_let_go(flow, now);
  }
  if (flow.shared()) [[unlikely]]
    share(flow, psn_add(psn, 1), now);

  const std::uint32_t h = flow.h;
  if (!release_before(flow, psn_add(psn, 1), now)) {
    // An ACK beyond an unfinished READ says that the response is lost, and the requester must know. It repeats
    // everything from there on, and a repair NAK would ask for what this ACK covers.
    ++counters_[Counter::responses_lost];
    flow.owed.repair_nak = false;
    note_passed(flow, psn_add(psn, 1), now);
    return Verdict::forward;
  }
  learn_msn(flow, aeth.msn, now);
  const bool absorbed = psn_lt(psn, h) && !ends_wait && !((flow.behind || flow.trust.silent != 0) && is_behind(flow));
  const Verdict verdict = absorbed ? Verdict::drop : Verdict::forward;
  note_credits(flow, aeth, verdict);
  if (psn_lt(psn, h)) {
    if (verdict == Verdict::drop) ++counters_[Counter::absorbed_acks];
    return verdict;
  }
  flow.msn_h = aeth.msn;
  return Verdict::forward;
}

// The answer comes long after the packet was sent. If nothing is acknowledged, a live requester would have repeated it.
// So the answer may be another connection's, whose requester has the same QPN.
bool NearPart::comes_late(NearFlow& flow, std::uint32_t psn, Time now) const {
  if (flow.queue.empty()) return false;
  const rte_mbuf* answered = find(flow, psn);
  return answered != nullptr && held_in(answered).sent && now - held_in(answered).sent_at > patience_of(flow);
}

// Credits count from the message that the answer acknowledges, so custody must be released up to it.
void NearPart::note_credits(NearFlow& flow, const wire::Aeth& aeth, Verdict verdict) {
  if (wire::aeth_kind(aeth.syndrome) != wire::AethKind::ack) return;
  const std::uint8_t code = wire::aeth_value(aeth.syndrome);
  flow.credits_used = code != wire::kAckNoCredits;
  if (!flow.credits_used) return;
  ++counters_[Counter::credits_seen];
  const std::uint64_t limit = flow.receives_released + wire::credits_of(code);
  // The requester may be waiting for credits, and does not see an answer that is absorbed.
  if (limit > flow.receive_limit && verdict == Verdict::drop) {
    flow.owed.ack_again = true;
    if (flow.una == flow.h) flow.msn_h = aeth.msn;
  }
  flow.receive_limit = limit;
}

// Requests that waited in custody for this may be acknowledged from now on.
void NearPart::confirmed(NearFlow& flow) {
  flow.move(PhaseEvent::answer_agreed);
  flow.trust.was_confirmed = flow.trust.msn_known = true;
  end_contest(flow, kUnproven);
  ++counters_[Counter::flows_confirmed];
  for (const rte_mbuf* mbuf = flow.queue.head(); mbuf != nullptr; mbuf = held_in(mbuf).next)
    if (held_in(mbuf).ack_req && !held_in(mbuf).wants_response) ++counters_[Counter::eligible_requests];
}

// `agreed`: the answer before `una` has the MSN that was counted. An answer for another connection, whose requester has
// the same QPN, may agree by chance, and so may the next one.
void NearPart::confirm_or_let_go(NearFlow& flow, bool agreed, Time now) {
  if (agreed && !outlet_.may_be_anothers(flow, psn_add(flow.una, -1))) return confirmed(flow);
  ++counters_[Counter::confirm_disagreed];
  send_and_let_go(flow, now);
}

// Some responders count a message that is under way. The answer is within one, and says one message more.
bool NearPart::counts_ahead(const NearFlow& flow, std::uint32_t counted, std::uint32_t msn) {
  const rte_mbuf* next = flow.queue.head();
  if (next == nullptr || msn != psn_add(counted, 1)) return false;
  wire::Frame frame;
  const bool parsed = wire::is_roce(wire::parse({rte_pktmbuf_mtod(next, const std::uint8_t*), next->pkt_len}, frame));
  if (!parsed || frame.opcode == nullptr) return false;
  return frame.opcode->position == wire::Position::middle || frame.opcode->position == wire::Position::last;
}

// Whether a second answer has agreed with the count that the first one began. An MSN proves something only across the
// end of a message.
bool NearPart::regains_trust(NearFlow& flow, std::uint32_t counted, std::uint32_t msn) {
  if (flow.trust.standing == Standing::learned && counted == msn) {
    if (msn == flow.learned_msn) return false;
    flow.trust.standing = Standing::trusted;
    return true;
  }
  flow.trust.standing = Standing::learned;
  flow.learned_msn = msn;
  return false;
}

// `una` has just moved to the end of an answer that carried `msn`.
void NearPart::learn_msn(NearFlow& flow, std::uint32_t msn, Time now) {
  const std::uint32_t counted = psn_add(flow.msn_base, flow.msn_released);
  switch (flow.phase) {
    case Phase::unconfirmed:
      return confirm_or_let_go(flow, counted == msn, now);
    case Phase::rejoining:
      // Once everything before custody is answered, the MSN is known again.
      flow.msn_base = psn_add(msn, -static_cast<std::int64_t>(flow.msn_released));
      if (!flow.queue.empty() && psn_lt(flow.una, held_in(flow.queue.head()).psn)) return;  // not everything yet
      // Otherwise custody, and whatever comes next, would be acknowledged now.
      if (outlet_.may_be_anothers(flow, psn_add(flow.una, -1))) return send_and_let_go(flow, now);
      if (flow.trust.lost() && !regains_trust(flow, counted, msn)) return;
      end_contest(flow, kDoubted | kUnproven);
      flow.move(PhaseEvent::msn_learned);
      flow.trust.msn_known = true;
      ++counters_[Counter::flows_rejoined];
      return;
    case Phase::confirmed:
      if (counted != msn && !flow.trust.lost() && !counts_ahead(flow, counted, msn)) {
        ++counters_[Counter::msn_disagreed];
        flow.trust.standing = Standing::lost;
        if (flow.disagreements < kMostDisagreements) ++flow.disagreements;
      }
      return;
    case Phase::plain:
      // Before the box acknowledges for this flow again, two answers must prove more than this.
      if (flow.trust.lost() && flow.contested() && !outlet_.may_be_anothers(flow, psn_add(flow.una, -1)))
        end_contest(flow, kUnproven);
      if (flow.trust.standing == Standing::lost && flow.disagreements < kMostDisagreements)
        flow.trust.standing = Standing::answered;
      return;
    case Phase::failed:
    case Phase::ended:
      return;
  }
}

// A NAK at or above h is for the requester, and acknowledges what precedes it.
Verdict NearPart::nak_forwarded(NearFlow& flow, const wire::Frame& frame, Time now) {
  if (flow.owes() && !agrees(flow, frame.psn(), frame.aeth().msn))
    return disagreed(flow, frame.psn(), frame.aeth().msn, now);
  if (flow.shared()) share(flow, frame.psn(), now);
  if (release_before(flow, frame.psn(), now)) flow.msn_h = frame.aeth().msn;
  // The requester still has all that custody has, and repeats it. An ACK that comes without a repeat is another
  // connection's.
  if (flow.phase == Phase::unconfirmed || flow.phase == Phase::rejoining) let_go(flow);
  return Verdict::forward;
}

Verdict NearPart::psn_nak(NearFlow& flow, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  if (psn_lt(psn, flow.una)) return stale();
  if (flow.owes() && !agrees(flow, psn, frame.aeth().msn)) return disagreed(flow, psn, frame.aeth().msn, now);
  link_.on_loss(now);  // all flows feel it, so not before the NAK is known to be this one's
  if (!psn_lt(psn, flow.h)) return nak_forwarded(flow, frame, now);
  if (flow.shared()) return shared_nak(flow, psn, now);
  ++counters_[Counter::absorbed_psn_naks];
  // Each makes the box send everything again. A responder that says nothing else for ever must come to an end.
  if (flow.vain_naks < kMostVainNaks) {
    ++flow.vain_naks;
    lives(flow, now);
  }
  release_before(flow, psn, now);
  // Real stacks follow an RNR NAK by a PSN NAK for the same PSN. And a repeated NAK that left before the resend could
  // arrive says nothing about the resend.
  const bool waiting = now < flow.hold_until;
  const bool before_resend =
      flow.resend_marks.rewound_at != 0 && now - flow.resend_marks.rewound_at < flow.rtt.minimum() / 4 * 3;
  if (waiting || (before_resend && flow.resend_marks.rewound_to == psn)) {
    ++counters_[Counter::answers_ignored];
    return Verdict::drop;
  }
  // For a later PSN it says that what was missing has come, late, and that what had overtaken it was dropped: one gap,
  // asked for twice.
  if (!before_resend) note_loss(flow);
  resend_for_nak(flow, Counter::resends_psn_nak, now);
  return Verdict::drop;
}

Verdict NearPart::rnr_nak(NearFlow& flow, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  if (psn_lt(psn, flow.una)) return stale();
  if (!psn_lt(psn, flow.h)) return nak_forwarded(flow, frame, now);
  if (!agrees(flow, psn, frame.aeth().msn)) return disagreed(flow, psn, frame.aeth().msn, now);
  lives(flow, now);
  if (flow.shared()) return shared_nak(flow, psn, now);
  ++counters_[Counter::absorbed_rnr_naks];
  release_before(flow, psn, now);
  note_loss(flow);  // what is behind the request that found no receive was discarded as well
  flow.hold_until = now + kRnrTimer[wire::aeth_value(frame.aeth().syndrome)];
  resend_for_nak(flow, Counter::resends_rnr_nak, now);
  flow.owes_rnr_nak = true;
  flow.rnr_timer = wire::aeth_value(frame.aeth().syndrome) & 0x1f;
  return Verdict::drop;
}

Verdict NearPart::fatal_nak(NearFlow& flow, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  if (psn_lt(psn, flow.una)) return stale();
  if (flow.owes() && !agrees(flow, psn, frame.aeth().msn)) return disagreed(flow, psn, frame.aeth().msn, now);
  if (!psn_lt(psn, flow.h)) {
    // The requester was told nothing wrong, so it handles its own error. The responder's QP is in error.
    release_before(flow, psn, now);
    end_custody(flow, PhaseEvent::refused);
    return Verdict::forward;
  }
  if (flow.shared()) return shared_nak(flow, psn, now);
  release_before(flow, psn, now);
  ++counters_[Counter::absorbed_fatal_naks];
  flow.failure.refused = true;
  fail(flow, static_cast<wire::NakCode>(wire::aeth_value(frame.aeth().syndrome)), "the responder sent a fatal NAK",
       now);
  return Verdict::drop;
}

// IBTA does not define this code, so the NAK neither answers nor fails anything. Custody stays, the timer sends probes,
// and give_up ends custody.
Verdict NearPart::unknown_nak(NearFlow& flow, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  if (psn_lt(psn, flow.una) || !psn_lt(psn, flow.h) || !agrees(flow, psn, frame.aeth().msn)) return Verdict::forward;
  // The requester has been told that this request arrived.
  ++counters_[Counter::absorbed_unknown_naks];
  lives(flow, now);
  return Verdict::drop;
}

// The requester gets this answer, in a doubt too. Where it answers what custody does not have, a NAK would ask for
// that.
void NearPart::note_beyond_custody(NearFlow& flow, const wire::Frame& answer) {
  if (!psn_le(flow.tail, answer.psn()) || (is_acknowledge(answer) && !is_ack(answer))) return;
  flow.owed.repair_nak = false;
  take_back_gap_nak(flow);
}

// READ and atomic responses always go to the requester; the box only watches for the end of the request.
Verdict NearPart::response(NearFlow& flow, const wire::Frame& frame, Time now) {
  ++counters_[Counter::real_responses];
  if (psn_lt(frame.psn(), flow.una)) {
    note_repeated(flow, Counter::responses_repeated);
    note_stray(flow, false, now);
    return Verdict::forward;
  }
  rte_mbuf* read = flow.queue.first_read();
  if (read == nullptr) {
    note_beyond_custody(flow, frame);
    if (!flow.queue.empty()) {
      note_unasked(flow, frame, now);
      if (flow.doubted() && flow.owes()) return Verdict::forward;
    }
    // Its MSN may run ahead, but not behind. Where it has none, one that has will follow.
    if (flow.owes()) {
      if (!frame.opcode->has(wire::kHasAeth)) return Verdict::forward;
      if (is_of_another(flow, frame.psn(), frame.aeth().msn))
        return disagreed(flow, frame.psn(), frame.aeth().msn, now);
    }
    // The READ is not in custody. The response answers what precedes the READ and, once complete, the READ itself, as
    // an ACK would.
    if (psn_lt(flow.una, frame.psn())) release_before(flow, frame.psn(), now);
    const auto position = frame.opcode->position;
    if (flow.queue.empty() && (position == wire::Position::last || position == wire::Position::only) &&
        psn_le(flow.una, frame.psn()) && release_before(flow, psn_add(frame.psn(), 1), now) &&
        frame.opcode->has(wire::kHasAeth))
      flow.msn_h = frame.aeth().msn;
    return Verdict::forward;
  }
  const Held held = held_in(read);
  const std::uint32_t psn = frame.psn();
  if (!held.sent || psn_lt(psn, held.psn) || psn_lt(held.last_psn, psn)) {
    note_beyond_custody(flow, frame);
    note_unasked(flow, frame, now);
    if (held.sent && psn_lt(held.last_psn, psn)) note_later_read(flow, frame, now);
    return Verdict::forward;
  }
  if (!fits(*frame.opcode, psn, held)) {
    ++counters_[Counter::responses_unfit];
    note_unasked(flow, frame, now);
    return Verdict::forward;
  }

  if (flow.owes() && is_of_another(flow, held, frame)) {
    ++counters_[Counter::answers_disagreed];
    return Verdict::forward;
  }
  // The responder answers in order, so this answers all before the READ. A response without an MSN is its own if one
  // with an MSN went before.
  if (!flow.owes() || frame.opcode->has(wire::kHasAeth) || flow.read_next != held.psn) {
    if (flow.shared()) share(flow, held.psn, now);
    release_before(flow, held.psn, now);
  }
  if (psn != flow.read_next) {
    if (psn_lt(flow.read_next, psn))
      flow.ahead.add(psn);
    else
      note_repeated(flow, Counter::responses_repeated);
    note_caught_up(flow, now);
    return Verdict::forward;
  }
  flow.read_next = psn_add(psn, 1);
  if (psn == held.psn) note_answer_time(flow, held, now);
  if (psn != held.last_psn) {
    note_caught_up(flow, now);
    return Verdict::forward;
  }

  // The last response to a request carries an AETH.
  finish_read(flow, now);
  // The MSN of a response may run ahead of its request (IBTA vol. 1, 9.7.7.1; real stacks answer a repeated READ with
  // their newest MSN), so it can confirm but neither teach nor refute.
  if (flow.phase == Phase::unconfirmed) {
    if (frame.aeth().msn == psn_add(flow.msn_base, flow.msn_released)) confirm_or_let_go(flow, true, now);
  } else if (!flow.owes() && !flow.queue.empty() && !held_in(flow.queue.head()).wants_response) {
    // Otherwise requests that waited for this answer would be acknowledged now.
    if (outlet_.may_be_anothers(flow, psn)) send_and_let_go(flow, now);
  }
  flow.msn_h = psn_add(flow.msn_base, flow.msn_released);
  note_credits(flow, frame.aeth(), Verdict::forward);
  return Verdict::forward;
}

// From the first copy to the first answer, however often the request was sent. READs, and whatever a short timer
// repeats, measure no round trip (Karn's rule).
void NearPart::note_answer_time(NearFlow& flow, const Held& held, Time now) {
  const Duration took = now - held.received_at;
  if (flow.answer_time.get() == 0)
    flow.answer_time.begin(took, now);
  else
    flow.answer_time.add(took, now);
}

// No answer comes sooner than this after a request was sent.
Duration NearPart::unanswered_for(const NearFlow& flow) {
  return flow.rtt.known() ? flow.rtt.minimum() : flow.answer_time.get();
}

void NearPart::finish_read(NearFlow& flow, Time now) {
  if (flow.read_stall_since != 0) end_read_stall(flow, now);
  flow.una = psn_add(held_in(flow.queue.head()).last_psn, 1);
  flow.passed_at = 0;
  release_head(flow);
  advance_h(flow, flow.una);
  progressed(flow, now);
  flow.ahead.forget_before(flow.una);
  note_caught_up(flow, now);
}

// The requester has an ACK beyond the READ or atomic at the head of custody. It asks again if it lacks the response.
void NearPart::note_passed(NearFlow& flow, std::uint32_t end, Time now) {
  if (flow.passed_at == 0 || now < flow.passed_at) {
    if (flow.contested() || flow.shared() || !psn_lt(held_in(flow.queue.head()).last_psn, end)) return;
    flow.passed_at = now;
    flow.passed_end = end;
    flow.deadline = std::min(flow.deadline, passed_due(flow));
  } else if (psn_lt(flow.passed_end, end)) {
    flow.passed_end = end;
  }
}

// When the requester has not asked again by then, it has the response. It may have put in order what came here out of
// order, or gone on with responses that crossed its repeat.
Time NearPart::passed_due(const NearFlow& flow) const {
  return flow.passed_at == 0 ? kNever : flow.passed_at + base_timeout_of(flow);
}

void NearPart::finish_passed(NearFlow& flow, Time now) {
  const std::uint32_t end = flow.passed_end;
  flow.passed_at = 0;
  if (flow.contested() || flow.shared()) return;
  ++counters_[Counter::reads_passed];
  while (!release_before(flow, end, now)) {
    if (!psn_lt(held_in(flow.queue.head()).last_psn, end)) break;
    finish_read(flow, now);
  }
  // Otherwise requests that waited for the response would be acknowledged now.
  if (!flow.owes() && !flow.queue.empty() && outlet_.may_be_anothers(flow, psn_add(end, -1)))
    send_and_let_go(flow, now);
}

void NearPart::advance_h(NearFlow& flow, std::uint32_t psn) {
  if (psn_lt(flow.examined_end, psn)) flow.examined_end = psn;
  if (psn_lt(flow.h, psn)) {
    flow.owed.ack_again = false;  // a real answer that says more is on its way
    flow.h = psn;
    flow.msn_h = psn_add(flow.msn_base, flow.msn_released);
  }
}

// Releases everything before `psn`, up to an unfinished READ or atomic. Returns false when one stands before `psn`. `h`
// follows.
bool NearPart::release_before(NearFlow& flow, std::uint32_t psn, Time now) {
  const std::uint32_t before = flow.una;
  while (rte_mbuf* mbuf = flow.queue.head()) {
    const Held& held = held_in(mbuf);
    if (!psn_lt(held.last_psn, psn)) break;
    if (held.wants_response) break;
    if (psn_add(held.last_psn, 1) == psn) {
      sample_round_trip(flow, held, now);
      if (held.resent) [[unlikely]]
        note_answer_time(flow, held, now);
    }
    release_head(flow);
    flow.loss_window.on_delivered();
  }
  const rte_mbuf* read = flow.queue.first_read();
  const bool blocked = read != nullptr && read == flow.queue.head() && psn_lt(held_in(read).psn, psn);
  const std::uint32_t reached = blocked ? held_in(read).psn : psn;
  if (psn_lt(flow.una, reached)) flow.una = reached;
  if (psn_lt(flow.tail, flow.una)) {
    // The responder has answered beyond custody, which goes on from there.
    flow.tail = flow.una;
    flow.move(PhaseEvent::answered_beyond);  // the messages in between were not counted
  }
  // The requester knows what an answer below h releases. It learns the rest from this answer, which is forwarded.
  advance_h(flow, flow.una);
  if (flow.una != before) progressed(flow, now);
  return !blocked;
}

void NearPart::progressed(NearFlow& flow, Time now) {
  flow.unanswered_since = flow.answered_at = now;
  flow.trust.silent &= static_cast<std::uint8_t>(~kRepeated);
  flow.resend.timeouts = flow.vain_naks = 0;
  flow.hold_until = 0;
  settle_probe(flow, now);
  flow.window.on_delivered(flow.bytes_answered, flow.rtt.minimum(), now);
  if (flow.queue.unsent() != nullptr) outlet_.wait_to_send(flow);
}

void NearPart::release_all(NearFlow& flow) {
  while (!flow.queue.empty()) release_head(flow);
  flow.trust.silent &= static_cast<std::uint8_t>(~kRepeated);
  flow.read_stall_since = 0;
  flow.passed_at = 0;
  flow.ahead.clear();
}

}  // namespace longhaul::custody
