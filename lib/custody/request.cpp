// SPDX-License-Identifier: BSD-3-Clause
// What comes from the requester: new packets into custody, and repeats. Gaps: reorder.cpp.
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <cstring>

#include "base/fair_share.hpp"
#include "custody/buffers.hpp"
#include "custody/near_part.hpp"
#include "wire/path_mtu.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_diff;
using wire::psn_le;
using wire::psn_lt;

namespace {

// A PSN further than this from what is under way is not this connection's: the QPN has a new user that nobody
// announced.
constexpr std::int32_t kPlausible = 1 << 16;

// Where custody is full, up to this much of a flow that waits for the pace goes at once. To drop the packets behind it,
// and to ask for them again, would cost more.
constexpr std::uint64_t kLittle = 1 << 16;  // bytes

// READs and atomics that a flow may have in custody. A requester has no more of them under way than its initiator
// depth, which has eight bits (IBTA vol. 1, 12.7.29).
constexpr unsigned kMostReads = 256;

// Pairs of hosts that asked for their share of custody in vain ask again within this time. It is longer than a round
// trip: only then has custody of the others come down.
constexpr Duration kContended = seconds(1);

// IBTA vol. 1, 9.7.1 lets half the circle be under way. Together with the plausible PSNs on both sides it must stay
// below that, or before and after can no longer be told apart.
constexpr std::int32_t kMaxUnderWay = (1 << 23) - 4 * kPlausible;

}  // namespace

bool NearPart::plausible(const NearFlow& flow, std::uint32_t psn) {
  const std::uint32_t top = psn_lt(flow.tail, flow.sent_top) ? flow.sent_top : flow.tail;
  return psn_diff(psn, top) <= kPlausible && psn_diff(flow.una, psn) <= kPlausible;
}

// A READ request uses up the PSNs of its responses.
inline NearPart::Span NearPart::span_of(const NearFlow& flow, const wire::Frame& frame) {
  const std::uint32_t psn = frame.psn();
  const std::uint32_t psns = frame.opcode == nullptr ? 0 : wire::psns_of(frame, flow.path_mtu);
  if (psns == 0) return {psn, psn, false};
  return {psn, psn_add(psn, std::min<std::int64_t>(psns, kMaxSpan + 1) - 1), true};
}

// First PSN after all that the request may use up. A READ with an unknown path MTU counts at its longest.
std::uint32_t NearPart::end_at_most(const wire::Frame& frame, const Span& span) {
  if (span.known || frame.opcode == nullptr) return psn_add(span.last_psn, 1);
  return psn_add(span.psn, std::min<std::int64_t>(wire::psns_of(frame, wire::kLeastPathMtu), kMaxSpan + 1));
}

Verdict NearPart::request(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Time now) {
  const bool gap = flow.owed.gap_nak != GapNak::none;
  const Verdict verdict = handle(flow, frame, mbuf, Wait::allowed, now);
  return gap && !flow.waiting.empty() ? after_gap(flow, frame, mbuf, verdict, now) : verdict;
}

Verdict NearPart::handle(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Wait wait, Time now) {
  if (flow.path_mtu == 0 && frame.opcode != nullptr) flow.path_mtu = wire::path_mtu_shown_by(frame);
  if (flow.ack.empty()) flow.ack.learn_from_request(frame, flow.identity.requester_qpn);
  const Span span = span_of(flow, frame);
  if (psn_diff(span.psn, flow.una) + psn_diff(span.last_psn, span.psn) > kMaxUnderWay) {
    ++counters_[Counter::requests_implausible];
    return Verdict::forward;
  }

  if (flow.doubted()) [[unlikely]]
    widen_doubt(flow, frame, span, now);

  switch (flow.phase) {
    case Phase::failed:
      return of_failed(flow, frame, span, now);
    case Phase::ended:
      return pass_plain(flow, frame, span);
    case Phase::plain:
      if (!flow.pairing.waits(now) && may_rejoin(flow, span)) {
        start_rejoining(flow, span, PhaseEvent::room_again);
        break;
      }
      if (psn_lt(span.psn, flow.tail)) return repeated(flow, frame, span, now);
      note_leap(flow, frame, span, now);
      return pass_plain(flow, frame, span);
    case Phase::unconfirmed:
    case Phase::confirmed:
    case Phase::rejoining:
      break;
  }

  const std::int32_t ahead = psn_diff(span.psn, flow.tail);
  if (ahead == 0) return in_order(flow, frame, span, mbuf, now);
  return ahead > 0 ? beyond_gap(flow, frame, span, mbuf, wait, now) : repeated(flow, frame, span, now);
}

// The next request of a failed flow gets the fatal NAK. A repeat below h is not the next one: its requester missed a
// pseudo-ACK, or is another one. So the responder must answer it. The same holds for a requester that goes on after
// enough fatal NAKs: another life may ignore a fatal NAK for this PSN.
Verdict NearPart::of_failed(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now) {
  if (psn_lt(span.psn, flow.h) || flow.failure.told_enough()) doubt(flow, frame, span, now);
  const bool next = flow.failure.from_record || psn_le(span.psn, flow.sent_top);
  if (flow.doubted() || !next) {
    ++counters_[Counter::plain_requests];
    return Verdict::forward;
  }
  reach_sent_top(flow, span);
  // No answer has shown the responder's headers, and an earlier request may have been forged.
  if (flow.failure.from_record) flow.ack.learn_from_request(frame, flow.identity.requester_qpn);
  flow.owed.fatal_nak = true;
  ++counters_[Counter::absorbed_failed];
  return Verdict::drop;
}

// Nothing has been under way for so long that the QPs may have begun another life.
bool NearPart::idle_for_long(const NearFlow& flow, Time now) {
  return flow.queue.empty() && now - flow.unanswered_since > flow.confirm_again && flow.phase == Phase::confirmed;
}

bool NearPart::sends_at_once(const NearFlow& flow, Time now) const {
  return !flow.resend.active && !flow.resend.probing() && now >= flow.hold_until &&
         flow.queue.under_way() < flow.loss_window.packets() && outlet_.may_send_at_once(flow);
}

// Only the newest packet waits to be sent, and nothing holds it back.
bool NearPart::sends_newest(const NearFlow& flow, Time now) const {
  return flow.queue.unsent() == flow.queue.newest() && sends_at_once(flow, now);
}

inline Verdict NearPart::in_order(NearFlow& flow, const wire::Frame& frame, const Span& span, rte_mbuf* mbuf,
                                  Time now) {
  if (flow.owed.gap_nak != GapNak::none) [[unlikely]]
    gap_filled(flow, span);
  if (idle_for_long(flow, now)) [[unlikely]] {
    start_rejoining(flow, span, PhaseEvent::idle_long);
    outlet_.rejoins(flow, frame);
  }
  // In a doubt this request may be of another life than custody, so it does not wait behind custody that is held back.
  const bool held_up = flow.doubted() && flow.owes() && (flow.queue.unsent() != nullptr || !sends_at_once(flow, now));
  // And it does not go before those that wait for the far box's word.
  const bool waits = flow.contested() && flow.pairing.waits(now);
  const bool off =
      flow.policy == flow::Policy::off || held_up || waits || (flow.trust.lost() && flow.phase != Phase::rejoining);
  // While draining, packets behind a resend still go through custody: otherwise they would overtake it.
  const bool drained = draining_ && flow.queue.unsent() == nullptr;
  if (off || drained || !span.known || !take(flow, frame, span, mbuf, now)) {
    if (flow.phase == Phase::unconfirmed) outlet_.passes_unconfirmed();
    if (!flow.queue.empty()) {
      outlet_.settle();
      const bool may_ask = may_nak_gap(flow);
      if (!send_waiting(flow, may_ask ? kLittle : UINT64_MAX, now) && may_ask) {
        // It would overtake what still waits to be sent, and the responder would discard it.
        ++counters_[Counter::dropped_behind_backlog];
        flow.owed.gap_nak = GapNak::owed;
        flow.gap_top = span.psn;  // nothing beyond this request was dropped yet
        return Verdict::drop;
      }
    }
    flow.move(PhaseEvent::request_passed);
    return pass_plain(flow, frame, span);
  }
  count_new(flow, frame, span);
  if (sends_newest(flow, now)) {
    // The frame itself goes, and custody keeps its copy or a reference of its own.
    rte_mbuf* held = flow.queue.unsent();
    flow.queue.mark_sent();
    outlet_.send_held(flow, held, mbuf);
    return Verdict::sent;
  }
  if (outlet_.must_wait(flow))
    outlet_.wait_to_send(flow);
  else
    try_send(flow, now);
  if (flow.queue.unsent() != nullptr) ++counters_[Counter::paced];
  return Verdict::taken;
}

// Another life may begin anywhere and come to where custody is. Without custody nothing is at stake.
void NearPart::strange_request(NearFlow& flow, const wire::Frame& frame, Time now) {
  if (!flow.queue.empty()) doubt(flow, frame, span_of(flow, frame), now);
}

// A request below tail comes again: a pseudo-ACK was lost, the network made a copy, or the QPs live another life. An
// exact repeat of a packet in custody need not go again if custody has sent the packet so lately that its answer may be
// under way. All other repeats go to the responder, which knows. The box does not acknowledge a repeat: the ACK would
// also cover packets that were not compared.
Verdict NearPart::repeated(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now) {
  const bool read = frame.opcode != nullptr && frame.opcode->wants_response();
  // The responder has answered nothing yet, so no request below its answers can give another life away. This may be
  // that life's first packet, the same as before, and an ACK for it would confirm the others. Everything passes until
  // an answer comes.
  if (flow.phase == Phase::unconfirmed) send_and_let_go(flow, now);
  rte_mbuf* held_mbuf = psn_lt(span.psn, flow.una) ? nullptr : find(flow, span.psn);
  const bool told = psn_lt(span.psn, flow.h);
  if (told) fall_behind(flow, now);
  bool same = false;
  const bool whole = held_mbuf != nullptr && is_whole(flow, held_mbuf, span);
  const bool came_again = held_mbuf != nullptr && held_in(held_mbuf).resent;
  if (read) {
    same = read_repeated(flow, frame, span, held_mbuf, now);
  } else {
    same = held_mbuf != nullptr && same_request(held_mbuf, frame);
    if (!same && (held_mbuf != nullptr || is_not_held(flow, span.psn))) doubt(flow, frame, span, now);
  }
  if (same && !flow.doubted()) {
    // The same packet, of the same life or of another life that has lost all before it.
    if (told) flow.trust.silent |= kRepeated;
    const Held& held = held_in(held_mbuf);
    // Without a box this packet, and all that came after it, would be under way. The requester has no pseudo-ACK for
    // them, and has waited long enough.
    const bool waited = !held.sent;
    // Where others wait too, it has no more than its turns.
    if (!told && !outlet_.must_wait(flow)) send_waiting(flow, UINT64_MAX, now);
    // An earlier repeat in this burst has made custody send it.
    const bool goes_now = !told && held.sent_at == now && held.received_at != now;
    if (waited || goes_now) {
      // It waits for the answer to a probe. Without a box this repeat would find out whether the path is back, and the
      // requester has few of them: so the probe goes again, whenever its own turn would be.
      if (!told && flow.resend.probe == Probe::out && now - flow.resend_marks.rewound_at >= base_timeout_of(flow))
        probe(flow, now);
      ++counters_[Counter::absorbed_queued_duplicates];
      return Verdict::drop;
    }
    if (told && now - held.sent_at < base_timeout_of(flow)) {
      ++counters_[Counter::absorbed_duplicates];
      return Verdict::drop;
    }
    // Two copies are under way, and neither can have been answered yet. One repeat goes in any case, as the first copy
    // may be lost. But a timer that is far shorter than the round trip would fill the WAN with copies, and with the
    // responses to each copy of a READ.
    if (!told && whole && came_again && now - held.sent_at < unanswered_for(flow)) {
      ++counters_[Counter::absorbed_unanswerable];
      return Verdict::drop;
    }
  }
  // A doubt may have dropped custody. The answer to either copy measures no round trip.
  if (!flow.queue.empty() && !psn_lt(span.psn, flow.una) && (held_mbuf = find(flow, span.psn)) != nullptr) {
    Held& held = held_in(held_mbuf);
    held.resent = true;
    const bool vouches = !read && same_request(held_mbuf, frame);
    if ((vouches || (same && whole)) && held.sent) held.sent_at = now;
    reach_sent_top(flow, {held.psn, held.last_psn, true});
    if (flow.doubted() && !read) held.vouched = vouches ? flow.doubt_number : 0;
  }
  ++counters_[Counter::duplicates_forwarded];
  return Verdict::forward;
}

// The repeat asks for all that the packet in custody asked for, and no response to it has come.
bool NearPart::is_whole(const NearFlow& flow, const rte_mbuf* held_mbuf, const Span& span) {
  const Held& held = held_in(held_mbuf);
  return span.psn == held.psn && (held_mbuf != flow.queue.first_read() || flow.read_next == held.psn);
}

// Whether custody holds the READ or atomic.
bool NearPart::read_repeated(NearFlow& flow, const wire::Frame& frame, const Span& span, rte_mbuf* held_mbuf,
                             Time now) {
  flow.passed_at = 0;
  flow.ahead.clear();
  if (held_mbuf == nullptr) {
    // At most up to what was ever sent: a length is easily forged.
    const std::uint32_t newest = psn_add(flow.sent_top, -1);
    const std::uint32_t last = psn_lt(newest, span.last_psn) ? newest : span.last_psn;
    if ((flow.trust.silent & kReadAgain) == 0 || psn_lt(flow.read_again_last, last)) flow.read_again_last = last;
    flow.trust.silent |= kReadAgain;
    if (is_not_held(flow, span.psn)) doubt(flow, frame, span, now);
    return false;
  }
  Held& held = held_in(held_mbuf);
  if (!held.wants_response || span.last_psn != held.last_psn ||
      (span.psn == held.psn && !same_request(held_mbuf, frame))) {
    doubt(flow, frame, span, now);
    return false;
  }
  held.shortened = held.shortened || span.psn != held.psn;
  // The repeat may ask only for the tail of the range. The copy is custody's own unless small buffers had run out.
  if (held.small && rte_mbuf_refcnt_read(held_mbuf) == 1 && held_mbuf->pkt_len == frame.size) {
    std::memcpy(rte_pktmbuf_mtod(held_mbuf, void*), frame.data, frame.size);
    begin_later(flow, held_mbuf, span.psn);
    held.ack_req = frame.ack_req();
    held.resent = true;
  }
  // The requester goes on with responses that were on their way to it when it asked again.
  if (held_mbuf == flow.queue.first_read() && psn_lt(flow.read_next, span.psn)) flow.read_next = span.psn;
  return true;
}

// No packet of custody begins at `psn`, and custody's life has had its answer or has another packet there.
bool NearPart::is_not_held(const NearFlow& flow, std::uint32_t psn) {
  return psn_lt(psn, flow.una) || flow.queue.spans(psn);
}

// The READ in `mbuf` becomes its own tail, from `psn` on.
void NearPart::begin_later(const NearFlow& flow, rte_mbuf* mbuf, std::uint32_t psn) {
  Held& held = held_in(mbuf);
  const bool same_block = PacketIndex::block_of(held.psn) == PacketIndex::block_of(psn);
  if (!same_block && held.indexed) {
    index_.remove(flow.connection, held.psn);
    held.indexed = false;
  }
  held.psn = psn;
  // Packets behind it in the block may have come before, and then the first of them is in the index.
  if (!same_block && mbuf != flow.queue.head()) add_to_index(flow, mbuf);
}

void NearPart::add_to_index(const NearFlow& flow, rte_mbuf* mbuf) {
  Held& held = held_in(mbuf);
  if (index_.find(flow.connection, held.psn) != nullptr) return;
  index_.add(flow.connection, held.psn, mbuf);
  held.indexed = true;
}

void NearPart::count_new(const NearFlow& flow, const wire::Frame& frame, const Span& span) {
  if (psn_lt(span.psn, flow.sent_top)) return;
  ++counters_[Counter::requests];
  if (flow.trust.was_confirmed && frame.asks_for_ack()) ++counters_[Counter::eligible_requests];
}

Verdict NearPart::pass_plain(NearFlow& flow, const wire::Frame& frame, const Span& span) {
  count_new(flow, frame, span);
  ++counters_[Counter::plain_requests];
  count_plain(flow, frame, span);
  reach_sent_top(flow, span);
  return Verdict::forward;
}

// Which of the reasons that hold now is the one to act on.
PlainCause NearPart::plain_cause(const NearFlow& flow) const {
  if (is_over(flow.phase)) return PlainCause::ended;
  if (flow.next_policy == flow::Policy::off) return PlainCause::policy;
  if (draining_) return PlainCause::draining;
  if (flow.trust.lost()) return PlainCause::untrusted;
  if (flow.doubted()) return PlainCause::doubted;
  const bool unanswered = !flow.trust.was_confirmed && flow.una == flow.first_psn;
  return unanswered ? PlainCause::unconfirmed : flow.plain_why;
}

void NearPart::count_plain(NearFlow& flow, const wire::Frame& frame, const Span& span) {
  if (psn_lt(span.psn, flow.sent_top) || !frame.asks_for_ack()) return;
  ++flow.plain[static_cast<std::size_t>(plain_cause(flow))];
}

void NearPart::reach_sent_top(NearFlow& flow, const Span& span) {
  const std::uint32_t after = psn_add(span.last_psn, 1);
  if (psn_lt(flow.sent_top, after)) flow.sent_top = after;
}

rte_mbuf* NearPart::small_copy(const rte_mbuf* mbuf) {
  for (std::size_t i = 0; i < copiers_.size(); ++i) {
    if (mbuf->pkt_len > pools_.bytes[i]) continue;
    if (i + 1 == copiers_.size() && copiers_[i].available() <= pools_.last_reserve) break;
    if (rte_mbuf* copy = copiers_[i].copy(mbuf)) return copy;
  }
  return nullptr;
}

// What may be acknowledged goes before what nobody was promised. Between flows that may not, who came first stays.
bool NearPart::others_make_room(const NearFlow& flow) {
  return flow.phase == Phase::confirmed && !flow.trust.lost() && outlet_.make_custody_room(flow);
}

bool NearPart::refuse(NearFlow& flow, Counter why) {
  ++counters_[why];
  ++flow.refused;
  flow.plain_why = cause_of_refusal(why);
  return false;
}

PlainCause NearPart::cause_of_refusal(Counter why) {
  if (why == Counter::custody_refused_flow) return PlainCause::custody_flow;
  if (why == Counter::custody_refused_pair) return PlainCause::custody_pair;
  return why == Counter::custody_refused_mbufs ? PlainCause::custody_buffers : PlainCause::custody_box;
}

// The box is full, and others have more of it than the pair of hosts that asks: they must come down to their share.
// What is answered makes room for it within a round trip.
void NearPart::note_contended(std::uint64_t held, std::uint64_t all, Time now) {
  if (held < all - held) contended_until_ = now + kContended;
}

template <auto kPart>
bool NearPart::has_room(NearFlow& flow, std::uint64_t more, std::uint64_t pair_limit, std::uint64_t limit, Counter full,
                        Time now) {
  const std::uint64_t own = flow.holding->*kPart;
  const auto is_full = [&] { return budget_.held.*kPart + more > limit; };
  if (!within_share(own + more, pair_limit, budget_.held.*kPart, limit, now < contended_until_))
    return refuse(flow, is_full() ? full : Counter::custody_refused_pair);
  if (!is_full() || (others_make_room(flow) && !is_full())) return true;
  note_contended(own, budget_.held.*kPart, now);
  return refuse(flow, full);
}

bool NearPart::take(NearFlow& flow, const wire::Frame& frame, const Span& span, rte_mbuf* mbuf, Time now) {
  const std::uint64_t bytes = mbuf->pkt_len;
  if (psn_diff(span.last_psn, flow.una) >= kMaxSpan ||
      (frame.opcode->wants_response() && flow.queue.reads() >= kMostReads))
    return refuse(flow, Counter::custody_refused_flow);
  if (bytes_of(flow) + bytes > budget_.flow_bytes_limit) return refuse(flow, Counter::custody_refused_flow);
  if (budget_.held.bytes + bytes > budget_.undivided_bytes &&
      !has_room<&Holding::bytes>(flow, bytes, budget_.pair_bytes_limit, budget_.box_bytes_limit,
                                 Counter::custody_refused_box, now)) [[unlikely]]
    return false;
  // A copy goes to memory that left the caches a round trip ago, so a reference is much cheaper. But 64 bytes that pin
  // a receive buffer of 9.5 KB can empty the pool, and a READ request may have to be altered.
  const bool plentiful = budget_.held.large_mbufs < budget_.plentiful_mbufs() &&
                         flow.holding->large_mbufs < budget_.pair_plentiful_mbufs() && !frame.opcode->wants_response();
  const auto may_copy = [&] { return flow.holding->small_mbufs() < budget_.pair_small_mbufs_limit; };
  rte_mbuf* held_mbuf = !plentiful && may_copy() ? small_copy(mbuf) : nullptr;
  const bool small = held_mbuf != nullptr;
  if (!small) {
    if (budget_.held.large_mbufs >= budget_.undivided_large_mbufs &&
        !has_room<&Holding::large_mbufs>(flow, 1, budget_.pair_large_mbufs_limit, budget_.large_mbufs_limit,
                                         Counter::custody_refused_mbufs, now)) [[unlikely]]
      return false;
    if (!plentiful && bytes <= pools_.bytes.back()) ++counters_[Counter::small_buffers_exhausted];
    held_mbuf = mbuf;
    rte_mbuf_refcnt_update(mbuf, 1);
  }
  budget_.held.add(bytes, small);
  flow.holding->add(bytes, small);

  if (flow.queue.empty()) flow.unanswered_since = now;
  flow.bytes_taken += bytes;
  if (frame.opcode->ends_message()) flow.msn_tail = psn_add(flow.msn_tail, 1);
  // In place: a copy would wait until all stores before it, to lines that no cache has, are done.
  const Held& held =
      *new (&held_in(held_mbuf)) Held{.received_at = now,
                                      .end_bytes = flow.bytes_taken,
                                      .psn = span.psn,
                                      .last_psn = span.last_psn,
                                      .msn = flow.msn_tail,
                                      .ack_req = frame.ack_req(),
                                      .wants_response = frame.opcode->wants_response(),
                                      .is_atomic = frame.opcode->operation == wire::Operation::atomic_request,
                                      .takes_receive = frame.opcode->takes_receive(),
                                      .small = small,
                                      .vouched = flow.doubted() ? flow.doubt_number : 0};
  const bool had_read = flow.queue.first_read() != nullptr;
  if (flow.queue.append(held_mbuf)) [[unlikely]]
    add_to_index(flow, held_mbuf);
  if (!had_read && held.wants_response) flow.read_next = span.psn;
  flow.tail = psn_add(span.last_psn, 1);
  return true;
}

bool NearPart::may_rejoin(const NearFlow& flow, const Span& span) const {
  return span.psn == flow.sent_top && psn_le(flow.tail, span.psn) && span.known && flow.queue.empty() &&
         flow.una != flow.first_psn && flow.next_policy != flow::Policy::off && flow.trust.standing != Standing::lost &&
         !draining_;
}

void NearPart::start_rejoining(NearFlow& flow, const Span& span, PhaseEvent why) {
  flow.move(why);
  flow.policy = flow.next_policy;
  flow.plain_why = PlainCause::catching_up;
  flow.owed.gap_nak = flow.waiting.empty() ? GapNak::none : GapNak::waits;
  flow.trust.msn_known = false;
  if (flow.trust.standing == Standing::learned) flow.trust.standing = Standing::answered;
  flow.tail = span.psn;
  flow.msn_base = flow.msn_tail = flow.msn_released = 0;
}

}  // namespace longhaul::custody
