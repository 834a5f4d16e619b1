// SPDX-License-Identifier: BSD-3-Clause
#include "relay/repairs.hpp"

#include <rte_mbuf.h>

#include <algorithm>

#include "wire/psn.hpp"

namespace longhaul::relay {

using custody::NearFlow;
using custody::Phase;
using wire::psn_lt;

namespace {

// What goes to the far box is of one life, and the responder has answered: before that, nothing would be repaired. (A
// flow that is plain for a while is ordered all the same.)
bool may_be_ordered(const NearFlow& flow) {
  return flow.una != flow.first_psn && !custody::is_over(flow.phase) && !flow.contested() && !flow.shared() &&
         flow.policy != flow::Policy::off;
}

// PSN of the next packet that goes to the WAN. A probe does not count: perhaps what follows it need not go again.
std::uint32_t next_to_send(const NearFlow& flow) {
  if (flow.resend.probing()) return flow.resend_marks.resume_psn;
  const rte_mbuf* unsent = flow.queue.unsent();
  return unsent == nullptr ? flow.sent_top : custody::held_in(unsent).psn;
}

std::uint32_t whole_us(Time at) { return static_cast<std::uint32_t>(at / microseconds(1)); }

}  // namespace

// ---- peers --------------------------------------------------------------------------------------

void Repairs::peer_up(PeerNumber peer, Duration round_trip, unsigned workers) {
  peers_[peer].round_trip = round_trip;
  peers_[peer].workers = workers;
  note_round_trips();
}

void Repairs::peer_gone(PeerNumber peer) {
  peers_.erase(peer);
  note_round_trips();
  for (std::uint32_t handle = 0; handle < outlet_.flows(); ++handle) {
    NearFlow* flow = outlet_.flow_of(handle);
    if (flow == nullptr || flow->pairing.binding == 0) continue;
    if (peers_.empty() || (flow->pairing.bound && peer_of(flow->pairing.peer) == peer)) release(flow->pairing);
  }
  std::erase_if(ended_, [&](const Ended& ended) { return peers_.empty() || ended.peer == peer; });
  note_ends();
}

void Repairs::note_round_trips() {
  longest_round_trip_ = 0;
  for (const auto& [number, peer] : peers_) longest_round_trip_ = std::max(longest_round_trip_, peer.round_trip);
}

void Repairs::be_active(Time now) {
  if (active_until_ <= now) clock_at_ = std::max(clock_at_, now + kQuiet);
  active_until_ = now + active_for(longest_round_trip_);
}

// ---- bindings -----------------------------------------------------------------------------------

NearFlow* Repairs::bound(const Bound& bound) const {
  NearFlow* flow = outlet_.flow_of(bound.handle);
  return flow != nullptr && bound.binding != 0 && flow->pairing.binding == bound.binding ? flow : nullptr;
}

void Repairs::tend(NearFlow& flow, Time now) {
  custody::Pairing& pairing = flow.pairing;
  if (pairing.ending != 0 && !flow.contested()) [[unlikely]]
    end_wait(flow, now);  // it was the former life all the time
  if (!may_be_ordered(flow)) {
    if (pairing.binding != 0) unbind(flow, flow.policy == flow::Policy::off && !flow.contested(), now);
    return;
  }
  if (peers_.empty()) return;
  if (pairing.binding == 0) {
    if (!flow.queue.empty()) bind(flow, now);
    return;
  }
  // The port has refused what the binding was to begin with.
  if (psn_lt(next_to_send(flow), pairing.from)) return bind(flow, now);
  if (pairing.top == flow.sent_top) return;
  pairing.patience = patience_for(longest_round_trip_);
  pairing.top = flow.sent_top;
  pairing.top_at = now;
  pairing.tops_left = kTops;
  if (!pairing.top_queued) note_quiet(flow, now + kQuiet);
  be_active(now);
}

// Without its end, which goes on.
void Repairs::release(custody::Pairing& pairing) {
  const std::uint32_t ending = pairing.ending;
  const Time waits_until = pairing.waits_until;
  pairing = {};
  pairing.ending = ending;
  pairing.waits_until = waits_until;
}

// Its responder asked, or is silent. The far box has handed on most of what goes again, and would take it for repeats:
// bound anew, it puts that in order, too, and keeps copies of it.
void Repairs::goes_back(NearFlow& flow, Time now) {
  const custody::Pairing& pairing = flow.pairing;
  if (pairing.binding == 0 || !may_be_ordered(flow)) return;
  // A BIND that has just left for the same place, or for one before it, will do.
  const bool covered = pairing.asking && !psn_lt(next_to_send(flow), pairing.from);
  const Duration since = microseconds(whole_us(now) - pairing.asked_us);
  if (covered && since < std::max(kLeastRebind, longest_round_trip_ / 4)) return;
  if (rebinds_.take(now)) bind(flow, now);
}

// A peer that has the flow already is still the one that may hold its requests.
void Repairs::bind(NearFlow& flow, Time now) {
  const custody::Pairing former = flow.pairing;
  release(flow.pairing);
  if (former.bound) {
    flow.pairing.bound = true;
    flow.pairing.peer = former.peer;
    flow.pairing.patience = former.patience;
    flow.pairing.gap_at = former.gap_at;
  }
  flow.pairing.top = flow.sent_top;
  ask(flow, former.bound ? kBoundRetry : kFirstRetry, now);
}

// What was sent before it need not be put in order: the far box may have handed it on. Each has a greater number: one
// that comes late must not bring an older binding back.
void Repairs::ask(NearFlow& flow, Duration wait, Time now) {
  flow.pairing.binding = ++last_binding_;
  flow.pairing.from = next_to_send(flow);
  flow.pairing.asking = true;
  flow.pairing.asked_us = whole_us(now);
  flow.pairing.top_queued = false;
  Body body;
  body.add(BindEntry::of(name_of(flow), outlet_.key_of(flow), flow.identity.requester_qpn, flow.pairing.from,
                         flow.path_mtu));
  for (const auto& [number, peer] : peers_) outlet_.send(speaker_of(number, peer.all()), Type::bind, body.bytes());
  be_active(now);  // the answer comes with the next CLOCK's
  wait = std::max(wait, 2 * longest_round_trip_);
  asked_.emplace(now + wait, Asked{binding_of(flow), wait});
}

void Repairs::ask_again(Time now) {
  for (unsigned i = 0; i < kAtOnce && !asked_.empty() && asked_.begin()->first <= now; ++i) {
    const Asked asked = asked_.begin()->second;
    asked_.erase(asked_.begin());
    NearFlow* flow = bound(asked.flow);
    if (flow == nullptr || !flow->pairing.asking || peers_.empty()) continue;
    ask(*flow, std::min(2 * asked.wait, kLastRetry), now);
  }
}

// A far box that has not heard of it hands requests of the former life on behind one of another. So in a doubt nothing
// of the flow passes until the far box says that the binding has ended, or for as long as it holds anything. What comes
// meanwhile is withheld.
void Repairs::unbind(NearFlow& flow, bool keep, Time now) {
  custody::Pairing& pairing = flow.pairing;
  if (pairing.binding == 0) return;
  const UnbindEntry entry{name_of(flow), static_cast<std::uint8_t>(keep ? 1 : 0)};
  const bool waits = !keep && !custody::is_over(flow.phase) && !peers_.empty();
  // A BIND that is not answered yet may have come, too. Each peer that was asked may hold requests: where there are
  // several, no one's word is enough.
  const PeerNumber only = peers_.size() == 1 ? peers_.begin()->first : 0;
  if (waits) {
    pairing.ending = pairing.binding;
    pairing.waits_until = now + word_for(longest_round_trip_);
  }
  release(pairing);
  // Answers that waited for the peer's copies wait no more.
  if (!flow.early_responses.empty() || !flow.early_acknowledges.empty()) flow.deadline = std::min(flow.deadline, now);
  Body body;
  body.add(entry);
  for (const auto& [number, peer] : peers_) outlet_.send(speaker_of(number, peer.all()), Type::unbind, body.bytes());
  be_active(now);
  if (ended_.size() == kMostEnded) ended_.erase(ended_.begin());
  const Duration wait = std::max(kFirstRetry, longest_round_trip_);
  const std::uint64_t workers = only == 0 ? 0 : ~std::uint64_t{0} >> (64 - peers_[only].workers);
  ended_.push_back({entry, only, workers, kUnbinds - 1, waits ? now : kNever, wait,
                    waits && only == 0 ? pairing.waits_until : kNever});
  note_ends();
}

// A connection may have moved from one of the peer's workers to another: what the former holds is of a former binding.
void Repairs::ended(Speaker peer, const Name& name, Time now) {
  std::uint32_t all_said = 0;  // of all bindings up to this one
  std::erase_if(ended_, [&](Ended& ended) {
    if (ended.entry.name.handle != name.handle || ended.entry.name.binding > name.binding) return false;
    if (ended.peer == 0) return ended.until == kNever;
    if (ended.peer == peer_of(peer)) ended.silent &= ~(std::uint64_t{1} << worker_of(peer));
    if (ended.silent == 0) all_said = std::max<std::uint32_t>(all_said, ended.entry.name.binding);
    return ended.silent == 0;
  });
  note_ends();
  NearFlow* flow = outlet_.flow_of(name.handle);
  if (flow == nullptr) return;
  custody::Pairing& pairing = flow->pairing;
  if (pairing.ending != 0 && pairing.ending <= all_said) end_wait(*flow, now);
  if (pairing.binding != name.binding || (pairing.bound && pairing.peer != peer)) return;
  if (!pairing.asking) return release(pairing);
  // Its BIND was lost. A former binding, and what is held for it, may be there still.
  const Duration since = microseconds(whole_us(now) - pairing.asked_us);
  if (may_be_ordered(*flow) && since >= std::max(kLeastRebind, longest_round_trip_) && rebinds_.take(now))
    ask(*flow, kFirstRetry, now);
}

void Repairs::end_wait(NearFlow& flow, Time now) {
  custody::Pairing& pairing = flow.pairing;
  pairing.ending = 0;
  pairing.waits_until = std::min(pairing.waits_until, now);
  const auto found = withheld_.find(flow.connection);
  if (found == withheld_.end()) return;
  hand_on(found->second);
  withheld_.erase(found);
}

bool Repairs::withhold(const NearFlow& flow, rte_mbuf* mbuf) {
  if (withheld_frames_ == kMostWithheld) return false;
  Withheld& withheld = withheld_[flow.connection];
  withheld.until = flow.pairing.waits_until;
  withheld_until_ = std::min(withheld_until_, withheld.until);
  if (withheld.requests.size() == kMostWithheldOfOne || !near_.lend(mbuf->pkt_len)) return false;
  withheld.requests.push_back(mbuf);
  ++withheld_frames_;
  return true;
}

void Repairs::hand_on(Withheld& withheld) {
  for (rte_mbuf* mbuf : withheld.requests) {
    near_.take_back(mbuf->pkt_len);
    outlet_.hand_on_to_wan(mbuf);
  }
  withheld_frames_ -= withheld.requests.size();
  withheld.requests.clear();
}

void Repairs::give_back(Withheld& withheld) {
  for (rte_mbuf* mbuf : withheld.requests) {
    near_.take_back(mbuf->pkt_len);
    rte_pktmbuf_free(mbuf);
  }
  withheld_frames_ -= withheld.requests.size();
  withheld.requests.clear();
}

void Repairs::drop(Withheld& withheld) {
  counters_[Counter::dropped_for_peer] += withheld.requests.size();
  give_back(withheld);
}

void Repairs::hand_on_due(Time now) {
  withheld_until_ = kNever;
  for (auto one = withheld_.begin(); one != withheld_.end();) {
    if (one->second.until <= now) {
      hand_on(one->second);
      one = withheld_.erase(one);
    } else {
      withheld_until_ = std::min(withheld_until_, one->second.until);
      ++one;
    }
  }
}

void Repairs::hand_on_all() { hand_on_due(kNever); }

void Repairs::drop_all() {
  for (auto& [handle, withheld] : withheld_) drop(withheld);
  withheld_.clear();
  withheld_until_ = kNever;
}

void Repairs::forget(NearFlow& flow, Time now) {
  unbind(flow, false, now);
  const auto found = withheld_.find(flow.connection);
  if (found == withheld_.end()) return;
  drop(found->second);
  withheld_.erase(found);
}

Repairs::~Repairs() {
  for (auto& [handle, withheld] : withheld_) give_back(withheld);
}

// ---- where flows end ----------------------------------------------------------------------------

void Repairs::note_quiet(NearFlow& flow, Time at) {
  flow.pairing.top_queued = true;
  quiet_.push_back({binding_of(flow), at});
}

void Repairs::look_at_quiet(Time now) {
  for (unsigned i = 0; i < kAtOnce && !quiet_.empty() && quiet_.front().at <= now; ++i) {
    const Quiet quiet = quiet_.front();
    quiet_.pop_front();
    NearFlow* flow = bound(quiet.flow);
    if (flow == nullptr) continue;
    custody::Pairing& pairing = flow->pairing;
    pairing.top_queued = false;
    if (now < pairing.top_at + kQuiet) {
      note_quiet(*flow, now + kQuiet);
      continue;
    }
    if (flow->queue.empty() || pairing.tops_left == 0) continue;  // all of it is answered
    announce(*flow);
    if (--pairing.tops_left > 0) note_quiet(*flow, now + 2 * interval());
  }
}

void Repairs::announce(NearFlow& flow) {
  const rte_mbuf* head = flow.queue.head();
  const std::uint32_t lowest = head == nullptr ? flow.tail : custody::held_in(head).psn;
  const ClockEntry entry{name_of(flow), lowest, flow.tail, flow.sent_top};
  if (flow.pairing.bound) {
    announced_.push_back({flow.pairing.peer, entry});
    return;
  }
  for (const auto& [number, peer] : peers_) announced_.push_back({speaker_of(number, peer.all()), entry});
}

void Repairs::send_clock(Time now) {
  Body unbinds;
  for (const Ended& ended : ended_)
    if (ended.due() <= now && unbinds.room() >= sizeof(ended.entry)) unbinds.add(ended.entry);
  std::ranges::stable_sort(announced_, {}, &std::pair<Speaker, ClockEntry>::first);
  auto entry = announced_.cbegin();
  const auto send_to = [&](Speaker to) {
    const auto send = [this, to](Bytes body) { outlet_.send(to, Type::clock, body); };
    HeadedBody clock(ClockHead{now});
    for (; entry != announced_.cend() && entry->first == to; ++entry) clock.add(entry->second, send);
    clock.finish(send);
  };
  unsigned more = 0;
  for (const auto& [number, peer] : peers_) {
    const Speaker all = speaker_of(number, peer.all());
    // What is left of a peer that is gone is for nobody.
    while (entry != announced_.cend() && peer_of(entry->first) < number) ++entry;
    for (; entry != announced_.cend() && entry->first < all; ++more) send_to(entry->first);
    send_to(all);
    if (!unbinds.bytes().empty()) outlet_.send(all, Type::unbind, unbinds.bytes());
  }
  clocks_.owe(more);
  announced_.clear();
  for (Ended& ended : ended_) {
    if (ended.left > 0) {
      --ended.left;
    } else if (ended.again_at <= now) {
      ended.again_at = now + ended.wait < ended.until ? now + ended.wait : kNever;
      ended.wait = std::min(2 * ended.wait, kLastRetry);
    }
  }
  std::erase_if(ended_, [](const Ended& ended) { return ended.left == 0 && ended.again_at == kNever; });
  note_ends();
}

void Repairs::note_ends() {
  ends_at_ = kNever;
  for (const Ended& ended : ended_) ends_at_ = std::min(ends_at_, ended.due());
}

// ---- repairs ------------------------------------------------------------------------------------

void Repairs::state(Speaker peer, Bytes body, Time now) {
  const auto known = peers_.find(peer_of(peer));
  if (known == peers_.end() || worker_of(peer) >= known->second.workers) return;
  StateReader reader(body);
  const StateHead* head = reader.head();
  if (head == nullptr) return;
  const std::uint64_t echo = head->echo;
  if (echo > now) return;
  const auto [told, is_first] = known->second.repeats.try_emplace(peer, head->repeats);
  // Where it has begun to count anew, only it saw this box gone.
  const std::uint32_t more = head->repeats - told->second;
  if (more < 1U << 31) repeats_ += more;
  told->second = head->repeats;
  lost_.clear();
  StateEntry entry{};
  while (reader.next(entry, missing_)) {
    if ((entry.flags & kNotBound) != 0) {
      ended(peer, entry.name, now);
      continue;
    }
    NearFlow* flow = bound({entry.name.handle, entry.name.binding});
    if (flow == nullptr) continue;
    custody::Pairing& pairing = flow->pairing;
    if ((entry.flags & kBound) != 0) {
      if (!pairing.bound) {
        ++counters_[Counter::flows_bound];
        flow->loss_window = {};  // from here on a loss makes the responder discard nothing
      }
      pairing.bound = true;
      pairing.asking = false;
      pairing.peer = peer;
      pairing.patience = patience_for(known->second.round_trip);
    }
    if (!pairing.bound || pairing.peer != peer) continue;
    if ((entry.flags & kMended) != 0 || !missing_.empty()) {
      flow->gap_reported = true;
      pairing.gap_at = now;
    }
    if (!missing_.empty()) repair(*flow, missing_, echo, now);
  }
  look_at_losses(echo, now);
  counters_[Counter::repairs] += lost_.size();
  copies_.add(lost_, loss_.copies(), now);
}

void Repairs::repair(NearFlow& flow, const std::vector<Missing>& missing, std::uint64_t echo, Time now) {
  const Time before = echo - std::min<Time>(echo, loss_.window());
  bool lacks = false;
  repaired_.clear();
  for (const Missing& range : missing) lacks |= !near_.repair(flow, range.psn, range.count, before, repaired_, now);
  for (const std::uint32_t psn : repaired_) lost_.push_back({binding_of(flow), psn});
  if (lacks) announce(flow);
}

// ---- time ---------------------------------------------------------------------------------------

void Repairs::look_at_losses(std::uint64_t echo, Time now) {
  Duration shortest = kNever;
  for (const auto& [number, peer] : peers_) shortest = std::min(shortest, peer.round_trip);
  const std::uint64_t covered = sent_.covered_by(echo);
  const std::uint64_t repairs = counters_[Counter::repairs];
  const std::uint64_t copies = counters_[Counter::repair_copies];
  const std::uint64_t resends = counters_[Counter::resends];
  const std::uint64_t others =
      resends - std::min(resends, repairs + copies + lost_.size()) + counters_[Counter::duplicates_forwarded];
  loss_.look({covered, repairs, copies, others, repeats_}, lost_.size(), outlet_.packets_sent() - covered, shortest,
             now);
}

void Repairs::poll(Time now) {
  if (withheld_until_ <= now) hand_on_due(now);
  copies_.send_due(now, [this](const Lost& lost) {
    NearFlow* flow = bound(lost.flow);
    if (flow == nullptr || !near_.send_copy(*flow, lost.psn)) return false;
    ++counters_[Counter::repair_copies];
    return true;
  });
  ask_again(now);
  if (peers_.empty() || now < clock_at_) return;
  const bool says_end = ends_at_ <= now;
  if (now >= active_until_ && !says_end) {
    // After a while without peers a clock may be left that nobody needs.
    clock_at_ = active_until_;
    return;
  }
  // A READ is one packet, and many that answer it. The end of a binding must be said at once.
  const std::uint64_t packets = outlet_.packets_sent() + counters_[Counter::real_responses];
  if (!clocks_.take(packets, longest_round_trip_, now) && !says_end) {
    clock_at_ = now + interval();
    return;
  }
  look_at_quiet(now);
  sent_.note(now, outlet_.packets_sent());
  send_clock(now);
  clock_at_ = now + interval();
}

Time Repairs::deadline() const {
  Time due = std::min(withheld_until_, copies_.due());
  if (!asked_.empty()) due = std::min(due, asked_.begin()->first);
  if (!peers_.empty()) due = std::min(due, std::max(clock_at_, clock_at_ < active_until_ ? 0 : ends_at_));
  return due;
}

}  // namespace longhaul::relay
