// SPDX-License-Identifier: BSD-3-Clause
#include "relay/far_part.hpp"

#include <algorithm>
#include <cstring>

#include "relay/far_held.hpp"
#include "wire/path_mtu.hpp"
#include "wire/psn.hpp"

namespace longhaul::relay {

using wire::psn_add;
using wire::psn_diff;
using wire::psn_lt;

namespace {

bool same_packet(const rte_mbuf* held, const wire::Frame& frame) {
  const FarHeld& its = far_held_in(held);
  return its.bytes == bytes_of(frame) && std::memcmp(rte_pktmbuf_mtod_offset(held, const char*, its.bth_offset),
                                                     frame.data + frame.bth_offset, its.bytes) == 0;
}

}  // namespace

FarPart::FarPart(std::uint32_t flows, std::uint64_t packets, AnswerCopies& copies, Counters& counters,
                 FarOutlet& outlet)
    : counters_(counters),
      outlet_(outlet),
      copies_(copies),
      requests_(flows, packets / 2, counters, outlet),
      room_(packets),
      table_(packets),
      index_(flows, "the flows of peers"),
      flows_(flows) {
  for (std::uint32_t number = flows; number-- > 0;) free_.push_back(number);
}

FarPart::~FarPart() { discard(); }

void FarPart::discard() {
  for (std::uint32_t number = 0; number < flows_.size(); ++number)
    if (flows_[number].in_use) remove(number);
}

// ---- requests -----------------------------------------------------------------------------------

FarPart::Verdict FarPart::request(std::uint32_t number, const wire::Frame& frame, rte_mbuf* mbuf, Time now) {
  FarFlow& flow = flows_[number];
  const std::uint32_t psn = frame.psn();
  const std::int32_t ahead = psn_diff(psn, flow.next);
  if (flow.path_mtu == 0 && frame.opcode != nullptr) flow.path_mtu = wire::path_mtu_shown_by(frame);
  const std::uint32_t psns = frame.opcode == nullptr ? 0 : wire::psns_of(frame, flow.path_mtu);
  // Where it is not known how many PSNs a request takes, nothing behind it can be put in order.
  const bool far_off = ahead > static_cast<std::int32_t>(kReach) || ahead < -static_cast<std::int32_t>(kReach);
  if (psns == 0 || psns > kReach || far_off) {
    end(number, false, now);
    return Verdict::forward;
  }
  const std::uint32_t end = psn_add(psn, psns);
  if (ahead == 0 && !flow.can_go()) [[likely]] {
    // A READ may be longer than what its gap has room for: then it is not of the life that is held.
    if (!flow.runs.empty() && psn_lt(flow.runs.first().begin, end)) {
      this->end(number, false, now);
      return Verdict::forward;
    }
    if (!requests_.takes(number)) return hold(number, frame, end, mbuf, now);
    return pass_on(number, frame, end, mbuf, now);
  }
  if (ahead < 0) {
    ++heard_[flow.peer].repeats;
    // A READ may reach beyond, where the near box has another path MTU.
    if (!psn_lt(flow.next, end)) return Verdict::forward;
    if (flow.runs.empty() || !psn_lt(flow.runs.first().begin, end))
      flow.next = end;
    else
      this->end(number, false, now);
    return Verdict::forward;
  }
  return hold(number, frame, end, mbuf, now);
}

// The request is next, and goes to the host without having been held.
FarPart::Verdict FarPart::pass_on(std::uint32_t number, const wire::Frame& frame, std::uint32_t end, rte_mbuf* mbuf,
                                  Time now) {
  flows_[number].next = end;
  begin_far_held(mbuf, frame, end, now);
  requests_.handed_on(number, mbuf, now);
  return Verdict::forward;
}

FarPart::Verdict FarPart::hold(std::uint32_t number, const wire::Frame& frame, std::uint32_t end, rte_mbuf* mbuf,
                               Time now) {
  FarFlow& flow = flows_[number];
  const std::uint32_t psn = frame.psn();
  if (const rte_mbuf* there = table_.find(number, psn)) {
    if (same_packet(there, frame)) {
      ++heard_[flow.peer].repeats;
      ++counters_[Counter::absorbed_held_repeats];
      return Verdict::drop;
    }
    this->end(number, false, now);
    return Verdict::forward;
  }
  const bool has_gap = flow.has_gap();
  const std::size_t gaps = flow.runs.all().size();
  if (!room_.has_room(flow.hosts, now) || !outlet_.hold(mbuf)) {
    if (hands_on_now(number, psn, now)) return pass_on(number, frame, end, mbuf, now);
    ++counters_[Counter::dropped_far_full];
    // What is missing before it is asked for all the same, and given up in time.
    flow.runs.expect(flow.next, psn == flow.next ? end : psn, now);
    list(number);
    look_at_ = std::min(look_at_, now + kLeastWait);
    return Verdict::drop;
  }
  switch (flow.runs.add(flow.next, psn, end, now)) {
    case Runs::Outcome::added:
      break;
    case Runs::Outcome::full:
      outlet_.let_go(mbuf);
      ++counters_[Counter::dropped_far_full];
      return Verdict::drop;
    case Runs::Outcome::there:
    case Runs::Outcome::overlaps:
      // Within a READ, or over what follows it.
      outlet_.let_go(mbuf);
      this->end(number, false, now);
      return Verdict::forward;
  }
  if (flow.has_gap() && (!has_gap || flow.runs.all().size() > gaps)) ++counters_[Counter::far_gaps];
  begin_far_held(mbuf, frame, end, now);
  rte_mbuf_refcnt_update(mbuf, 1);
  table_.add(number, psn, mbuf);
  room_.add(flow.hosts);
  ++counters_[Counter::far_held];
  list(number);
  if (flow.can_go())
    ready(number);
  else
    look_at_ = std::min(look_at_, now + kLeastWait);
  return Verdict::held;
}

// ---- in order -----------------------------------------------------------------------------------

void FarPart::take_out(FarFlow& flow, rte_mbuf* mbuf) {
  room_.remove(flow.hosts);
  outlet_.let_go(mbuf);
}

void FarPart::go_on(std::uint32_t number, Time now) {
  FarFlow& flow = flows_[number];
  for (unsigned i = 0; flow.can_go(); ++i) {
    if (i == kAtOnce || !outlet_.host_takes()) return ready(number);
    if (!requests_.takes(number) && !waits_too_long(number, now)) return;  // until it says that it takes more
    if (flow.has_gap()) {
      ++counters_[Counter::far_gaps_given_up];
      const std::uint32_t begin = flow.runs.first().begin;
      flow.next = flow.ending || !psn_lt(flow.lacks_to, begin) ? begin : flow.lacks_to;
      continue;
    }
    // An empty run has nothing.
    if (flow.next != flow.runs.first().end) {
      rte_mbuf* mbuf = table_.find(number, flow.next);
      table_.remove(number, flow.next);
      take_out(flow, mbuf);
      flow.next = far_held_in(mbuf).end;
      requests_.handed_on(number, mbuf, now);
      outlet_.hand_on(mbuf);
    }
    flow.runs.begin_at(flow.next);
  }
  if (!flow.runs.empty()) {
    look_at_ = std::min(look_at_, std::max(now, flow.runs.first().since + patience(flow.peer)));
    return;
  }
  flow.mended_left = Runs::kTold;
  if (flow.ending) remove(number);
}

// Without room nothing waits for its host, as without a window. Whether the request at `psn` is next now.
bool FarPart::hands_on_now(std::uint32_t number, std::uint32_t psn, Time now) {
  FarFlow& flow = flows_[number];
  if (flow.has_gap()) return false;
  requests_.end_window(number, now);
  if (flow.can_go()) go_on(number, now);
  return flow.in_use && flow.next == psn && flow.runs.empty() && requests_.takes(number);
}

// What waits for its host goes on after the time in which a gap is given up.
bool FarPart::waits_too_long(std::uint32_t number, Time now) {
  const FarFlow& flow = flows_[number];
  const rte_mbuf* first = flow.has_gap() ? nullptr : table_.find(number, flow.next);
  if (first == nullptr || now < far_held_in(first).came_at + patience(flow.peer)) return false;
  requests_.end_window(number, now);
  return requests_.takes(number);
}

// What is missing before `psn` is not waited for any more.
void FarPart::skip_to(std::uint32_t number, std::uint32_t psn, Time now) {
  FarFlow& flow = flows_[number];
  ++counters_[Counter::far_gaps_given_up];
  flow.next = psn_lt(psn, flow.runs.first().begin) ? psn : flow.runs.first().begin;
  go_on(number, now);
}

// What is missing below the top, and not in custody, never comes from the near box.
void FarPart::give_up(std::uint32_t number, const ClockEntry& entry, Time now) {
  FarFlow& flow = flows_[number];
  const std::uint32_t lowest = entry.lowest & wire::kPsnMask;
  flow.lacks_from = entry.end & wire::kPsnMask;
  flow.lacks_to = entry.top & wire::kPsnMask;
  while (flow.in_use && flow.has_gap() && psn_lt(flow.next, lowest)) skip_to(number, lowest, now);
  if (flow.in_use && flow.can_go()) go_on(number, now);
}

void FarPart::list(std::uint32_t number) {
  if (flows_[number].listed) return;
  flows_[number].listed = true;
  listed_.add(number);
}

void FarPart::ready(std::uint32_t number) {
  if (flows_[number].ready) return;
  flows_[number].ready = true;
  ready_.push_back(number);
}

// ---- bindings -----------------------------------------------------------------------------------

void FarPart::bind(Speaker peer, Bytes body, Time now) {
  for (const BindEntry& entry : entries_in<BindEntry>(body)) {
    const flow::KeyIndex::Key key = entry.key();
    const std::uint32_t known = find(key);
    if (known != kNone && flows_[known].peer == peer && flows_[known].name.handle == entry.name.handle &&
        flows_[known].name.binding == entry.name.binding) {
      flows_[known].bound_left = Runs::kTold;
      list(known);
      continue;
    }
    // One that comes late, perhaps after its own UNBIND, must not come back.
    std::uint32_t& newest = heard_[peer].newest_binding;
    if (entry.name.binding <= newest) continue;
    newest = entry.name.binding;
    if (known != kNone) remove(known);
    // The near box has used the handle for another flow since.
    if (const auto old = by_handle_.find(handle_key(peer, entry.name.handle)); old != by_handle_.end())
      remove(old->second);
    if (free_.empty() || !index_.put(key, free_.back())) continue;
    const std::uint32_t number = free_.back();
    free_.pop_back();
    FarFlow& flow = flows_[number];
    const bool listed = flow.listed;
    const bool was_ready = flow.ready;
    flow = FarFlow{};
    // The lists may still name its former tenant; that does no harm.
    flow.listed = listed;
    flow.ready = was_ready;
    flow.key = key;
    flow.peer = peer;
    flow.name = entry.name;
    flow.path_mtu = entry.path_mtu <= wire::kMostPathMtu ? std::uint32_t{entry.path_mtu} : 0;
    flow.next = entry.psn & wire::kPsnMask;
    flow.hosts = HostShares::number_of(key);
    flow.bound_left = Runs::kTold;
    flow.in_use = true;
    // A QPN has one responder. Where two bindings say otherwise, nobody knows whose an answer is.
    if (const std::uint32_t other = copies_.begin(number, peer, entry); other != AnswerCopies::kNone)
      requests_.end(other);
    else
      requests_.begin(number, flow.next, heard_[peer], flow.hosts);
    by_handle_[handle_key(peer, entry.name.handle)] = number;
    ++bound_;
    list(number);
  }
}

std::uint32_t FarPart::number_of(Speaker peer, const Name& name) const {
  const auto found = by_handle_.find(handle_key(peer, name.handle));
  return found != by_handle_.end() && flows_[found->second].name.binding == name.binding ? found->second : kNone;
}

// It ends all bindings of the handle up to this one, and is answered at once.
void FarPart::unbind(Speaker peer, Bytes body, Time now) {
  for (const UnbindEntry& entry : entries_in<UnbindEntry>(body)) {
    note_binding(peer, entry.name);
    const auto found = by_handle_.find(handle_key(peer, entry.name.handle));
    if (found != by_handle_.end() && flows_[found->second].name.binding <= entry.name.binding)
      end(found->second, entry.keep != 0, now);
    say_ended(peer, entry.name, 1);
  }
  report(peer, now);
}

// Who says that it has ended, or does not have it, takes it no more.
void FarPart::note_binding(Speaker peer, const Name& name) {
  std::uint32_t& newest = heard_[peer].newest_binding;
  newest = std::max<std::uint32_t>(newest, name.binding);
}

// A flow that ends may still have something to hand on, and its name may be said more often than needed.
void FarPart::say_ended(Speaker peer, const Name& name, std::uint8_t times) {
  constexpr std::size_t kMostEnded = 256;
  if (ended_.size() < kMostEnded) ended_.push_back({peer, name, times});
}

void FarPart::end(std::uint32_t number, bool keep, Time now) {
  FarFlow& flow = flows_[number];
  say_ended(flow.peer, flow.name, Runs::kTold);
  copies_.end(number);
  requests_.end(number);
  if (!keep) return remove(number);
  flow.ending = true;
  if (flow.runs.empty())
    remove(number);
  else
    go_on(number, now);
}

void FarPart::drop_held(std::uint32_t number) {
  FarFlow& flow = flows_[number];
  for (const Run& run : flow.runs.all())
    for (std::uint32_t psn = run.begin; psn != run.end;) {
      rte_mbuf* mbuf = table_.find(number, psn);
      table_.remove(number, psn);
      psn = far_held_in(mbuf).end;
      take_out(flow, mbuf);
      ++counters_[Counter::dropped_other_life];
      rte_pktmbuf_free(mbuf);
    }
  flow.runs.clear();
}

void FarPart::remove(std::uint32_t number) {
  FarFlow& flow = flows_[number];
  if (!flow.in_use) return;
  drop_held(number);
  copies_.end(number);
  requests_.end(number);
  index_.erase(flow.key);
  by_handle_.erase(handle_key(flow.peer, flow.name.handle));
  flow.in_use = false;
  free_.push_back(number);
  --bound_;
}

void FarPart::another_life(const flow::KeyIndex::KeyView& key, Time now) {
  if (bound_ == 0) return;
  if (const std::uint32_t number = find(key); number != kNone) end(number, false, now);
}

void FarPart::forget(PeerNumber peer, Time now) {
  for (std::uint32_t number = 0; number < flows_.size(); ++number)
    if (flows_[number].in_use && peer_of(flows_[number].peer) == peer) end(number, true, now);
  std::erase_if(heard_, [peer](const auto& heard) { return peer_of(heard.first) == peer; });
  std::erase_if(ended_, [peer](const Ended& ended) { return peer_of(ended.peer) == peer; });
}

void FarPart::end_all(bool keep, Time now) {
  for (std::uint32_t number = 0; number < flows_.size(); ++number)
    if (flows_[number].in_use) end(number, keep, now);
}

// ---- reports ------------------------------------------------------------------------------------

void FarPart::set_round_trip(Speaker peer, Duration round_trip, Duration spacing) {
  heard_[peer].round_trip = round_trip;
  heard_[peer].spacing = spacing;
}

void FarPart::clock(Speaker peer, To to, Bytes body, Time now) {
  const ClockHead* head = take_head<ClockHead>(body);
  if (head == nullptr) return;
  heard_[peer].hear(head->clock);
  for (const ClockEntry& entry : entries_in<ClockEntry>(body)) {
    const std::uint32_t number = number_of(peer, entry.name);
    if (number == kNone) {
      // What all workers hear may be another one's. And a former binding has not ended because a newer one is lost.
      if (to == To::one && !by_handle_.contains(handle_key(peer, entry.name.handle))) {
        note_binding(peer, entry.name);
        say_ended(peer, entry.name, 1);
      }
      continue;
    }
    FarFlow& flow = flows_[number];
    const std::uint32_t top = entry.top & wire::kPsnMask;
    if (psn_diff(top, flow.next) > static_cast<std::int32_t>(kReach) || psn_lt(top, entry.end & wire::kPsnMask) ||
        psn_lt(entry.end & wire::kPsnMask, entry.lowest & wire::kPsnMask))
      continue;
    flow.runs.expect(flow.next, top, now);
    give_up(number, entry, now);
    if (flow.in_use && flow.has_gap()) {
      list(number);
      look_at_ = std::min(look_at_, now + kLeastWait);
    }
  }
  report(peer, now);
}

void FarPart::report(Speaker peer, Time now) {
  Heard& heard = heard_[peer];
  const bool full = heard.begin_report(kFullReports, now);
  StateWriter writer({heard.clock, heard.repeats});
  unsigned sent = 0;
  const auto send = [&](Bytes body) {
    ++sent;
    outlet_.send(peer, Type::state, body);
  };
  for (Ended& ended : ended_)
    if (ended.peer == peer && ended.left > 0) writer.begin(ended.name, kNotBound, 0, send), --ended.left;
  std::erase_if(ended_, [](const Ended& ended) { return ended.left == 0; });
  using Served = ReportTurns::Served;
  listed_.take([&](std::uint32_t number) {
    FarFlow& flow = flows_[number];
    const bool found_place = sent < kMostReports;
    if (flow.in_use && flow.peer == peer && found_place) {
      std::uint8_t flags = 0;
      if (flow.bound_left > 0) flags |= kBound, --flow.bound_left;
      if (flow.mended_left > 0 && flow.runs.empty()) flags |= kMended, --flow.mended_left;
      bool begun = false;
      const auto begin = [&] {
        if (!begun) writer.begin(flow.name, flags, flow.next, send);
        begun = true;
      };
      if (flags != 0) begin();
      flow.runs.for_missing(flow.next, full, [&](const Missing& missing) {
        if (flow.is_lacked(missing.psn)) return;
        begin();
        writer.missing(missing, send);
      });
    }
    flow.listed = flow.in_use && (!flow.runs.empty() || flow.bound_left > 0 || flow.mended_left > 0);
    if (!flow.listed) return Served::leaves;
    return flow.peer == peer && !found_place ? Served::found_no_place : Served::stays;
  });
  if (writer.empty() && !heard.may_say_nothing(now)) return;
  heard.said_at = now;
  writer.finish(send);
}

// ---- time ---------------------------------------------------------------------------------------

Duration FarPart::patience(Speaker peer) const {
  const auto heard = heard_.find(peer);
  return patience_for(heard == heard_.end() ? 0 : heard->second.round_trip);
}

void FarPart::poll(Time now, Time read_until) {
  requests_.poll(now, read_until, [&](std::uint32_t number) {
    if (flows_[number].in_use && flows_[number].can_go()) go_on(number, now);
  });
  for (std::size_t left = ready_.size(); left > 0 && outlet_.host_takes(); --left) {
    const std::uint32_t number = ready_.front();
    ready_.pop_front();
    flows_[number].ready = false;
    if (flows_[number].in_use) go_on(number, now);
  }
  if (now < look_at_) return;
  look_at_ = kNever;
  // go_on() may remove flows, but lists none.
  for (const std::uint32_t number : listed_.flows()) {
    FarFlow& flow = flows_[number];
    while (flow.in_use && flow.has_gap()) {
      const Time due = flow.runs.first().since + patience(flow.peer);
      if (due > now) {
        look_at_ = std::min(look_at_, due);
        break;
      }
      skip_to(number, flow.runs.first().begin, now);
    }
  }
}

Time FarPart::deadline() const { return ready_.empty() ? std::min(look_at_, requests_.deadline()) : 0; }

}  // namespace longhaul::relay
