// SPDX-License-Identifier: BSD-3-Clause
#include "relay/answer_copies.hpp"

#include <algorithm>
#include <cstring>

#include "custody/answer_kind.hpp"
#include "wire/psn.hpp"

namespace longhaul::relay {

using wire::psn_add;
using wire::psn_diff;
using wire::psn_lt;

namespace {

bool same(const Name& one, const Name& other) { return one.handle == other.handle && one.binding == other.binding; }

}  // namespace

AnswerCopies::AnswerCopies(std::uint32_t flows, std::uint64_t packets, Counters& counters, CopiesOutlet& outlet)
    : counters_(counters),
      outlet_(outlet),
      room_(packets),
      index_(flows, "the answers to the flows of peers"),
      flows_(flows) {}

AnswerCopies::~AnswerCopies() {
  for (Flow& flow : flows_) drop_all(flow);
}

// ---- bindings -----------------------------------------------------------------------------------

std::uint32_t AnswerCopies::begin(std::uint32_t number, Speaker peer, const BindEntry& entry) {
  const flow::KeyIndex::Key key = entry.answers_key();
  const std::uint32_t other = find(key);
  if (other != kNone) end(other);
  if (!index_.put(key, number)) return other;
  Flow& flow = flows_[number];
  flow.in_use = true;
  flow.peer = peer;
  flow.at = &peers_[peer];
  flow.name = entry.name;
  flow.key = key;
  flow.hosts = HostShares::number_of(key);
  flow.tops_left = 0;
  flow.quiet_queued = flow.aging_queued = false;  // what is queued has another name
  by_handle_[handle_key(peer, entry.name.handle)] = number;
  ++bound_;
  return other;
}

void AnswerCopies::end(std::uint32_t number) {
  Flow& flow = flows_[number];
  if (!flow.in_use) return;
  drop_all(flow);
  index_.erase(flow.key);
  by_handle_.erase(handle_key(flow.peer, flow.name.handle));
  flow.in_use = false;
  --bound_;
}

void AnswerCopies::forget(PeerNumber peer) {
  for (std::uint32_t number = 0; number < flows_.size(); ++number)
    if (flows_[number].in_use && peer_of(flows_[number].peer) == peer) end(number);
  std::erase_if(peers_, [peer](const auto& known) { return peer_of(known.first) == peer; });
}

bool AnswerCopies::is_bound(const Bound& bound) const {
  return flows_[bound.number].in_use && same(flows_[bound.number].name, bound.name);
}

std::uint32_t AnswerCopies::number_of(Speaker peer, const Name& name) const {
  const auto found = by_handle_.find(handle_key(peer, name.handle));
  return found != by_handle_.end() && is_bound({found->second, name}) ? found->second : kNone;
}

// ---- what is kept -------------------------------------------------------------------------------

void AnswerCopies::answer(std::uint32_t number, const wire::Frame& frame, rte_mbuf* mbuf, Time now) {
  Flow& flow = flows_[number];
  const std::uint32_t psn = frame.psn();
  if (!custody::is_acknowledge(frame)) {
    keep(flow, mbuf, psn, now);
    ++flow.at->sent;
  } else if (custody::is_ack(frame)) {
    keep_ack(flow, mbuf, psn, now);
  } else {
    return;
  }
  note_answer(number, psn_add(psn, 1), custody::is_acknowledge(frame), now);
  age_from(number, now);
}

// A READ that is executed again brings the same PSNs, perhaps with other bytes, and not always those behind it.
void AnswerCopies::keep(Flow& flow, rte_mbuf* mbuf, std::uint32_t psn, Time now) {
  std::deque<Copy>& kept = flow.responses;
  if (!kept.empty() && std::abs(psn_diff(psn, kept.front().psn)) > kReach) drop_all(flow);
  auto place = kept.end();
  if (!kept.empty() && !psn_lt(kept.back().psn, psn)) {
    ++flow.at->again;
    place = at_or_behind(flow, psn);
    if (place->psn == psn) return replace(flow, *place, mbuf, now);
    if (std::min(place - kept.begin(), kept.end() - place) > kMostMoved) return;
  }
  if (!room_.has_room(flow.hosts, now) || !outlet_.hold(mbuf)) {
    ++counters_[Counter::answers_not_kept];
    return;
  }
  room_.add(flow.hosts);
  rte_mbuf_refcnt_update(mbuf, 1);
  flow.mixed |= place != kept.end();
  kept.insert(place, {mbuf, psn, now, now});
}

// Where the new one cannot be kept, neither is the old one sent any more.
void AnswerCopies::replace(Flow& flow, Copy& copy, rte_mbuf* mbuf, Time now) {
  if (!outlet_.hold(mbuf)) {
    ++counters_[Counter::answers_not_kept];
    copy.came_at = 0;
    return;
  }
  outlet_.let_go(copy.mbuf);
  rte_pktmbuf_free(copy.mbuf);
  rte_mbuf_refcnt_update(mbuf, 1);
  copy = {mbuf, copy.psn, now, now};
  flow.mixed = true;
}

void AnswerCopies::keep_ack(Flow& flow, const rte_mbuf* mbuf, std::uint32_t psn, Time now) {
  if (mbuf->pkt_len > kMostAck || (flow.ack.bytes != 0 && psn_lt(psn, flow.ack.psn))) return;
  std::memcpy(flow.ack.frame.data(), rte_pktmbuf_mtod(mbuf, const void*), mbuf->pkt_len);
  flow.ack.bytes = static_cast<std::uint16_t>(mbuf->pkt_len);
  flow.ack.psn = psn;
  flow.ack.came_at = flow.ack.sent_at = now;
}

void AnswerCopies::let_go(const Flow& flow, const Copy& copy) {
  outlet_.let_go(copy.mbuf);
  room_.remove(flow.hosts);
  rte_pktmbuf_free(copy.mbuf);
}

void AnswerCopies::drop_first(Flow& flow) {
  let_go(flow, flow.responses.front());
  flow.responses.pop_front();
}

void AnswerCopies::drop_before(Flow& flow, std::uint32_t next) {
  while (!flow.responses.empty() && psn_lt(flow.responses.front().psn, next)) drop_first(flow);
  if (psn_lt(flow.ack.psn, next)) flow.ack.bytes = 0;
}

void AnswerCopies::drop_all(Flow& flow) {
  while (!flow.responses.empty()) drop_first(flow);
  flow.ack.bytes = 0;
}

void AnswerCopies::look_at_age(Time now) {
  for (unsigned i = 0; i < kAtOnce && !aging_.empty() && aging_.begin()->first <= now; ++i) {
    const Bound bound = aging_.begin()->second;
    aging_.erase(aging_.begin());
    if (!is_bound(bound)) continue;
    Flow& flow = flows_[bound.number];
    flow.aging_queued = false;
    const Duration lifetime = lifetime_for(flow.at->round_trip);
    const auto is_old = [&](Time came_at) { return came_at + lifetime <= now; };
    while (!flow.responses.empty() && is_old(flow.responses.front().came_at)) drop_first(flow);
    Time oldest = flow.responses.empty() ? kNever : flow.responses.front().came_at;
    if (flow.mixed) {
      // Seldom: it looks at all.
      std::erase_if(flow.responses, [&](const Copy& copy) {
        const bool old = is_old(copy.came_at);
        if (old) let_go(flow, copy);
        return old;
      });
      for (const Copy& copy : flow.responses) oldest = std::min(oldest, copy.came_at);
      oldest = std::max(oldest, now - 3 * (lifetime / 4));
      flow.mixed = !flow.responses.empty();
    }
    if (flow.ack.bytes != 0 && is_old(flow.ack.came_at)) flow.ack.bytes = 0;
    if (flow.ack.bytes != 0) oldest = std::min(oldest, flow.ack.came_at);
    if (oldest != kNever) age_from(bound.number, oldest);
  }
}

void AnswerCopies::age_from(std::uint32_t number, Time oldest) {
  Flow& flow = flows_[number];
  if (flow.aging_queued) return;
  flow.aging_queued = true;
  aging_.emplace(oldest + lifetime_for(flow.at->round_trip), Bound{number, flow.name});
}

// ---- where flows end ----------------------------------------------------------------------------

// The next answer of a busy flow says that an ACK was lost, or is as good.
Duration AnswerCopies::quiet_of(const Flow& flow) const {
  return flow.last_was_ack ? std::max(kQuiet, flow.at->round_trip / 4) : kQuiet;
}

void AnswerCopies::note_answer(std::uint32_t number, std::uint32_t end, bool is_ack, Time now) {
  Flow& flow = flows_[number];
  ++flow.at->answers;
  flow.top = end;
  flow.top_at = now;
  flow.last_was_ack = is_ack;
  flow.tops_left = kTops;
  if (!flow.quiet_queued) queue_quiet(number, now + kQuiet);
  Peer& peer = *flow.at;
  if (peer.active_until <= now) peer.clock_at = std::max(peer.clock_at, now + kQuiet);
  peer.active_until = now + active_for(peer.round_trip);
}

void AnswerCopies::queue_quiet(std::uint32_t number, Time at) {
  flows_[number].quiet_queued = true;
  quiet_.push_back({{number, flows_[number].name}, at});
}

void AnswerCopies::look_at_quiet(Time now) {
  for (unsigned i = 0; i < kAtOnce && !quiet_.empty() && quiet_.front().at <= now; ++i) {
    const Bound bound = quiet_.front().flow;
    quiet_.pop_front();
    if (!is_bound(bound)) continue;
    Flow& flow = flows_[bound.number];
    flow.quiet_queued = false;
    if (now < flow.top_at + quiet_of(flow)) {
      queue_quiet(bound.number, now + kQuiet);
      continue;
    }
    if (flow.tops_left == 0) continue;
    Peer& peer = *flow.at;
    peer.announced.push_back({flow.name, flow.top});
    // With several workers the next one is due later than this is worth.
    if (peer.spacing != 0) peer.clock_at = std::min(peer.clock_at, std::max(now, peer.clocked_at + peer.shortest()));
    if (--flow.tops_left > 0) queue_quiet(bound.number, now + 2 * peer.interval());
  }
}

void AnswerCopies::send_clock(Speaker number, Peer& peer, Time now) {
  const auto send = [this, number](Bytes body) { outlet_.send(number, Type::answer_clock, body); };
  HeadedBody clock(ClockHead{now});
  for (const AnswerClockEntry& entry : peer.announced) clock.add(entry, send);
  clock.finish(send);
  peer.announced.clear();
  peer.clocked_at = now;
  peer.clock_at = now + peer.interval();
}

// ---- what the near box misses -------------------------------------------------------------------

unsigned& AnswerCopies::looks_of(Peer& peer, Time now) {
  if (now >= peer.looks_from + clock_interval(0)) {
    peer.looks_from = now;
    const Duration rows = std::max<Duration>(peer.spacing / spacing_of(2) * 2, 1);  // they share what a peer may cost
    peer.looks = static_cast<unsigned>(kMostLooks * peer.interval() / clock_interval(0) / rows);
  }
  return peer.looks;
}

void AnswerCopies::state(Speaker number_of_peer, Bytes body, Time now) {
  StateReader reader(body);
  const StateHead* head = reader.head();
  const auto known = peers_.find(number_of_peer);
  if (head == nullptr || head->echo > now || known == peers_.end()) return;
  Peer& peer = known->second;
  const Time echo = head->echo;
  // What left less than a round trip ago cannot be missed yet, whatever a report says.
  const Time before = std::min(echo - std::min<Time>(echo, peer.loss.window()), now - std::min(now, peer.round_trip));
  unsigned& looks = looks_of(peer, now);
  lost_.clear();
  StateEntry entry{};
  while (reader.next(entry, missing_)) {
    const std::uint32_t number = number_of(number_of_peer, entry.name);
    if (number == kNone) continue;
    Flow& flow = flows_[number];
    const std::uint32_t next = entry.psn & wire::kPsnMask;
    if ((entry.flags & kFirst) != 0) drop_before(flow, next);
    // No flow takes all.
    const unsigned share = looks / 2;
    unsigned its = share;
    if ((entry.flags & kComplete) != 0 && !missing_.empty()) drop_come(flow, next, its);
    for (const Missing& range : missing_) send_again(number, range, before, its, now);
    looks -= share - its;
  }
  counters_[Counter::answer_repairs] += lost_.size();
  look_at_losses(peer, echo, head->repeats, now);
  peer.counts.repairs += lost_.size();
  copies_.add(lost_, peer.loss.copies(), now);
}

std::deque<AnswerCopies::Copy>::iterator AnswerCopies::at_or_behind(Flow& flow, std::uint32_t psn) {
  return std::ranges::lower_bound(flow.responses, psn, wire::psn_lt, &Copy::psn);
}

// What is between the missing ranges waits for its turn in the near box.
void AnswerCopies::drop_come(Flow& flow, std::uint32_t next, unsigned& looks) {
  const auto offset = [next](std::uint32_t psn) { return (psn - next) & wire::kPsnMask; };
  auto range = missing_.begin();
  auto at = at_or_behind(flow, next);
  auto to = at;
  // All behind may have to be moved.
  const auto all = static_cast<std::size_t>(flow.responses.end() - at);
  if (all > looks) return;
  looks -= static_cast<unsigned>(all);
  for (; at != flow.responses.end(); ++at) {
    while (range != missing_.end() && offset(at->psn) >= offset(range->psn) + range->count) ++range;
    if (range == missing_.end()) break;
    if (offset(at->psn) < offset(range->psn))
      let_go(flow, *at);
    else
      *to++ = *at;
  }
  const std::uint32_t named = offset(missing_.back().psn) + missing_.back().count;
  const bool ack_missing = std::ranges::any_of(missing_, [&](const Missing& one) { return one.has(flow.ack.psn); });
  if (offset(flow.ack.psn) < named && !ack_missing) flow.ack.bytes = 0;
  if (to != at) flow.responses.erase(std::move(at, flow.responses.end(), to), flow.responses.end());
}

void AnswerCopies::send_again(std::uint32_t number, const Missing& missing, Time before, unsigned& looks, Time now) {
  Flow& flow = flows_[number];
  if (flow.ack.bytes != 0 && missing.has(flow.ack.psn) && flow.ack.sent_at <= before) send_ack_again(flow, now);
  if (flow.responses.empty()) return;
  const Duration lifetime = lifetime_for(flow.at->round_trip);
  const std::uint32_t first = flow.responses.front().psn;
  auto at = missing.has(first) ? flow.responses.begin() : at_or_behind(flow, missing.psn);
  for (; at != flow.responses.end() && missing.has(at->psn) && looks > 0 && outlet_.wan_takes(); ++at, --looks) {
    if (at->sent_at > before || at->came_at + lifetime <= now) continue;
    lost_.push_back({{number, flow.name}, at->psn});
    send_copy(flow, *at, now);
  }
}

void AnswerCopies::send_copy(Flow& flow, Copy& copy, Time now) {
  copy.sent_at = now;
  ++flow.at->sent;
  rte_mbuf_refcnt_update(copy.mbuf, 1);
  outlet_.send_to_wan(copy.mbuf);
}

void AnswerCopies::send_ack_again(Flow& flow, Time now) {
  if (flow.ack.came_at + lifetime_for(flow.at->round_trip) <= now) return;
  rte_mbuf* frame = outlet_.wan_takes() ? outlet_.made_frame(flow.ack.bytes) : nullptr;
  if (frame == nullptr) return;
  std::memcpy(rte_pktmbuf_mtod(frame, void*), flow.ack.frame.data(), flow.ack.bytes);
  flow.ack.sent_at = now;
  ++counters_[Counter::acks_sent_again];
  outlet_.send_to_wan(frame);
}

// Once more, if nobody has told that it came.
bool AnswerCopies::send_lost(const Lost& lost, Time now) {
  if (!is_bound(lost.flow) || !outlet_.wan_takes()) return false;
  Flow& flow = flows_[lost.flow.number];
  const auto at = at_or_behind(flow, lost.psn);
  if (at == flow.responses.end() || at->psn != lost.psn) return false;
  if (at->came_at + lifetime_for(flow.at->round_trip) <= now) return false;
  send_copy(flow, *at, now);
  ++flow.at->counts.copies;
  ++counters_[Counter::answer_repair_copies];
  return true;
}

void AnswerCopies::look_at_losses(Peer& peer, std::uint64_t echo, std::uint32_t repeats, Time now) {
  LossRate::Counts& counts = peer.counts;
  counts.covered = peer.sent_before.covered_by(echo);
  counts.others = peer.again;
  counts.repeats = repeats;
  peer.loss.look(counts, lost_.size(), peer.sent - counts.covered, peer.round_trip, now);
}

// ---- time ---------------------------------------------------------------------------------------

void AnswerCopies::poll(Time now) {
  copies_.send_due(now, [&](const Lost& lost) { return send_lost(lost, now); });
  look_at_age(now);
  look_at_quiet(now);
  for (auto& [number, peer] : peers_) {
    if (now < peer.clock_at) continue;
    if (now >= peer.active_until && peer.announced.empty()) {
      peer.clock_at = peer.active_until;  // nobody needs it any more
      continue;
    }
    if (!peer.clocks.take(peer.answers, peer.round_trip, now)) {
      peer.clock_at = now + peer.shortest();
      continue;
    }
    peer.sent_before.note(now, peer.sent);
    send_clock(number, peer, now);
  }
}

Time AnswerCopies::deadline() const {
  Time due = copies_.due();
  if (!aging_.empty()) due = std::min(due, aging_.begin()->first);
  if (!quiet_.empty()) due = std::min(due, quiet_.front().at);
  for (const auto& [number, peer] : peers_)
    if (peer.clock_at < peer.active_until || !peer.announced.empty()) due = std::min(due, peer.clock_at);
  return due;
}

}  // namespace longhaul::relay
