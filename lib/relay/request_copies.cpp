// SPDX-License-Identifier: BSD-3-Clause
#include "relay/request_copies.hpp"

#include <algorithm>

#include "custody/answer_kind.hpp"
#include "relay/clockwork.hpp"
#include "wire/psn.hpp"

namespace longhaul::relay {

using wire::psn_add;
using wire::psn_lt;

RequestCopies::RequestCopies(std::uint32_t flows, std::uint64_t packets, Counters& counters, FarOutlet& outlet)
    : counters_(counters), outlet_(outlet), room_(packets), flows_(flows) {}

RequestCopies::~RequestCopies() {
  for (Flow& flow : flows_) drop_all(flow);
}

void RequestCopies::begin(std::uint32_t number, std::uint32_t psn, const Heard& peer, std::uint32_t hosts) {
  Flow& flow = flows_[number];
  const Flow former = flow;
  flow = Flow{};
  flow.peer = &peer;
  flow.hosts = hosts;
  flow.end = psn;
  flow.binding = former.binding + 1;
  flow.blocked = former.blocked;  // the list may still name it; that does no harm
}

void RequestCopies::end(std::uint32_t number) {
  drop_all(flows_[number]);
  flows_[number].peer = nullptr;
}

// ---- what is kept -------------------------------------------------------------------------------

void RequestCopies::handed_on(std::uint32_t number, rte_mbuf* mbuf, Time now) {
  Flow& flow = flows_[number];
  if (flow.peer == nullptr) return;
  FarHeld& its = far_held_in(mbuf);
  if (flow.end != its.psn) {
    drop_all(flow);
    flow.msn_known = false;
  }
  flow.end = its.end;
  if (!make_room(flow, mbuf, now)) {
    drop_all(flow);
    flow.msn_known = false;
    return;
  }
  rte_mbuf_refcnt_update(mbuf, 1);
  its.next = nullptr;
  its.sent_at = now;
  (flow.first == nullptr ? flow.first : far_held_in(flow.last).next) = mbuf;
  flow.last = mbuf;
  ++flow.copies;
  flow.allowance = std::min(flow.allowance + kAgainForEach, kAgainForEach * kMost);
  count_sent(flow, mbuf, now);
  look_later(number, now);
}

// The oldest go first: the host has most likely had them.
bool RequestCopies::make_room(Flow& flow, const rte_mbuf* mbuf, Time now) {
  for (;; drop_first(flow)) {
    if (flow.copies < kMost && room_.has_room(flow.hosts, now) && outlet_.hold(mbuf)) break;
    if (flow.first == nullptr) return false;
  }
  room_.add(flow.hosts);
  return true;
}

void RequestCopies::count_sent(Flow& flow, rte_mbuf* mbuf, Time now) {
  const FarHeld& its = far_held_in(mbuf);
  ++flow.sent;
  if (!its.asks) return;
  if (flow.questions++ == 0) flow.waiting_since = now;
  if (!its.wants_response) flow.question = mbuf;
}

void RequestCopies::drop_first(Flow& flow) {
  rte_mbuf* mbuf = flow.first;
  const FarHeld& its = far_held_in(mbuf);
  if (flow.again == mbuf) {
    flow.again = its.next;
  } else {
    --flow.sent;
    flow.questions -= its.asks;
  }
  if (flow.question == mbuf) flow.question = nullptr;
  if (its.ends_message) flow.msn = psn_add(flow.msn, 1);
  flow.first = its.next;
  if (flow.first == nullptr) flow.last = nullptr;
  --flow.copies;
  room_.remove(flow.hosts);
  outlet_.let_go(mbuf);
  rte_pktmbuf_free(mbuf);
}

void RequestCopies::drop_all(Flow& flow) {
  while (flow.first != nullptr) drop_first(flow);
  flow.nak_mended = false;
}

// It has the way to the host before it. What came behind a gap is older than what mended the gap.
bool RequestCopies::is_old(const Flow& flow, const rte_mbuf* mbuf, Time now) {
  const Duration longest = lifetime_for(flow.peer->round_trip);
  return far_held_in(mbuf).came_at + longest - std::min(longest, flow.host_round_trip) <= now;
}

void RequestCopies::drop_old(Flow& flow, Time now) {
  while (flow.first != nullptr && is_old(flow, flow.first, now)) drop_first(flow);
}

// ---- answers ------------------------------------------------------------------------------------

bool RequestCopies::answer(std::uint32_t number, const wire::Frame& frame, Time now) {
  Flow& flow = flows_[number];
  if (flow.peer == nullptr) return false;
  const std::uint32_t psn = frame.psn();
  bool absorbed = false;
  flow.waiting_since = now;
  if (!custody::is_acknowledge(frame)) {
    // Its MSN may be of any request that was answered since (design.md, section 4.2).
    drop_answered(flow, psn_add(psn, 1), true, now);
  } else {
    const wire::Aeth& aeth = frame.aeth();
    const std::uint32_t end = custody::acknowledged_end(frame);
    const bool is_new = !psn_lt(end, flow.front());
    if (is_new) drop_answered(flow, end, custody::is_ack(frame), now);
    const bool of_this_life = is_new && agrees(flow, end, aeth.msn);
    switch (wire::aeth_kind(aeth.syndrome)) {
      case wire::AethKind::ack:
        if (flow.front() == end) flow.msn = aeth.msn, flow.msn_known = true;
        break;
      case wire::AethKind::rnr_nak:
        // The near box sends what was refused, and all behind it, when the time has passed.
        flow.stopped = true;
        while (flow.again != nullptr) pass_over(flow, now);
        break;
      default:
        if (aeth.syndrome != wire::nak_syndrome(wire::NakCode::psn_sequence_error))
          drop_all(flow);
        else
          absorbed = of_this_life && mend(number, psn, now);
    }
  }
  if (flow.again != nullptr) send_again(number, now);
  return absorbed;
}

// Everything before `end` is answered. A NAK comes when a later request does, so it measures no round trip. Silence is
// waited for longer each time until one is measured: a host may take longer than kSilence.
void RequestCopies::drop_answered(Flow& flow, std::uint32_t end, bool measures, Time now) {
  // The host answers what it was not given.
  if (psn_lt(flow.end, end)) return drop_all(flow);
  std::uint32_t answered = 0;
  for (; flow.first != nullptr && !psn_lt(end, far_held_in(flow.first).end); ++answered) {
    const FarHeld& its = far_held_in(flow.first);
    if (measures && its.end == end && its.asks && !its.wants_response && !its.sent_again) {
      flow.probes = 0;
      const Duration took = now - its.sent_at;
      flow.host_round_trip =
          flow.host_round_trip == 0 ? took : flow.host_round_trip - flow.host_round_trip / 8 + took / 8;
    }
    drop_first(flow);
  }
  if (answered == 0) return;
  flow.naks = 0;
  flow.nak_mended = flow.stopped = false;
  if (flow.window == kNoWindow) return;
  for (flow.grown += answered; flow.grown >= flow.window && flow.window < kNoWindow;) {
    flow.grown -= flow.window;
    flow.window = std::min(flow.window + flow.window / 8 + 1, kNoWindow);
  }
}

// An answer to everything before `end` has the MSN that was counted. If it has another one, the copies are another
// life's: its responder counts its messages anew. Within a READ, and before the first ACK, nobody knows.
bool RequestCopies::agrees(Flow& flow, std::uint32_t end, std::uint32_t msn) {
  if (flow.front() != end || !flow.msn_known) return false;
  if (flow.msn == msn) return true;
  drop_all(flow);
  return false;
}

// A PSN NAK that this life's responder sent. False: it must pass.
bool RequestCopies::mend(std::uint32_t number, std::uint32_t psn, Time now) {
  Flow& flow = flows_[number];
  drop_old(flow, now);
  if (flow.stopped || flow.first == nullptr || flow.front() != psn) return false;
  // This copy goes, or has left, since the host saw what made it ask.
  const FarHeld& its = far_held_in(flow.first);
  const bool asked_before =
      flow.again == flow.first || (its.sent_again && now - its.sent_at < flow.host_round_trip / 2);
  if (!asked_before) {
    if (flow.naks == kMostNaks || flow.allowance < flow.copies) return false;
    ++flow.naks;
    flow.window = std::max(std::min(flow.window, flow.sent) / 2, kLeastWindow);
    flow.grown = 0;
    flow.nak_mended = true;
    go_back(number, now);
  }
  ++counters_[Counter::absorbed_host_naks];
  return true;
}

// ---- what goes again ----------------------------------------------------------------------------

void RequestCopies::go_back(std::uint32_t number, Time now) {
  Flow& flow = flows_[number];
  flow.again = flow.first;
  flow.question = nullptr;
  flow.sent = flow.questions = 0;
  flow.waiting_since = now;
  send_again(number, now);
}

void RequestCopies::send_again(std::uint32_t number, Time now) {
  Flow& flow = flows_[number];
  drop_old(flow, now);
  while (flow.again != nullptr && flow.is_open()) {
    if (!outlet_.host_takes()) {
      if (!flow.blocked) blocked_.push_back(number);
      flow.blocked = true;
      return;
    }
    rte_mbuf* mbuf = flow.again;
    if (is_old(flow, mbuf, now)) return drop_all(flow);
    pass_over(flow, now);
    flow.allowance -= std::min<std::uint32_t>(flow.allowance, 1);
    send(mbuf, now);
  }
}

// The next copy that was to go again counts as sent.
void RequestCopies::pass_over(Flow& flow, Time now) {
  rte_mbuf* mbuf = flow.again;
  flow.again = far_held_in(mbuf).next;
  count_sent(flow, mbuf, now);
}

void RequestCopies::send(rte_mbuf* mbuf, Time now) {
  FarHeld& its = far_held_in(mbuf);
  its.sent_at = now;
  its.sent_again = true;
  ++counters_[Counter::request_copies_sent];
  rte_mbuf_refcnt_update(mbuf, 1);
  outlet_.send_to_host(mbuf);
}

std::uint32_t RequestCopies::unblock(Time now) {
  const std::uint32_t number = blocked_.front();
  blocked_.pop_front();
  flows_[number].blocked = false;
  if (flows_[number].again != nullptr) send_again(number, now);
  return number;
}

// ---- time ---------------------------------------------------------------------------------------

void RequestCopies::look_later(std::uint32_t number, Time now) {
  Flow& flow = flows_[number];
  if (flow.look_queued) return;
  flow.look_queued = true;
  looks_.push_back({number, flow.binding, now + kSilence});
}

std::uint32_t RequestCopies::look(Time now, Time read_until) {
  const Look due = looks_.front();
  looks_.pop_front();
  Flow& flow = flows_[due.number];
  if (flow.binding != due.binding) return due.number;
  flow.look_queued = false;
  if (flow.peer == nullptr) return due.number;
  drop_old(flow, now);
  const Duration silence = std::max(kSilence, 4 * flow.host_round_trip) << flow.probes;
  if (flow.questions > 0 && !flow.stopped && read_until >= flow.waiting_since + silence) probe(due.number, now);
  if (flow.first != nullptr) look_later(due.number, now);
  return due.number;
}

// The host says nothing. Either what asks it was lost, or its answer, or the repair that it had asked for.
void RequestCopies::probe(std::uint32_t number, Time now) {
  Flow& flow = flows_[number];
  flow.waiting_since = now;
  if (flow.probes == kMostProbes) return;
  ++counters_[Counter::silent_hosts];
  if (++flow.probes == kMostProbes) flow.window = kNoWindow;
  if (flow.nak_mended) return go_back(number, now);
  if (flow.again != nullptr) send_again(number, now);
  if (flow.question != nullptr && !is_old(flow, flow.question, now) && outlet_.host_takes()) send(flow.question, now);
}

void RequestCopies::end_window(std::uint32_t number, Time now) {
  flows_[number].window = kNoWindow;
  if (flows_[number].again != nullptr) send_again(number, now);
}

}  // namespace longhaul::relay
