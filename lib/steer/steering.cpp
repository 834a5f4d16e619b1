// SPDX-License-Identifier: BSD-3-Clause
#include "steer/steering.hpp"

#include <algorithm>

#include "flow/connection_key.hpp"
#include "flow/header_checksums.hpp"
#include "wire/icrc.hpp"

namespace longhaul::steer {

using flow::kCloseWait;
using flow::KeyIndex;
using flow::kIdle;
using flow::kIdleSearch;

namespace {

// A REQ longer than those of RDMA-CM is not worth remembering.
constexpr std::uint32_t kLongestRequest = 512;

// An engine's learner combines frames that are no older than this.
constexpr Duration kLearnsFrom = seconds(10);

}  // namespace

Steering::Steering(const SteeringSettings& settings, Counters& counters)
    : settings_(settings),
      counters_(counters),
      tracker_(settings.max_pending_cm, settings.max_connections, true),
      by_side_{KeyIndex(settings.max_connections, "table of connections' owners"),
               KeyIndex(settings.max_connections, "table of connections' owners")},
      entries_(settings.max_connections),
      lives_(settings.max_connections),
      load_(kMaxWorkers) {
  free_.reserve(settings.max_connections);
  for (Index i = settings.max_connections; i-- > 0;) free_.push_back(i);
  if (settings_.owners.empty()) settings_.owners.push_back(settings_.self);
}

Target Steering::owner_of(Side from, const wire::Frame& frame, Time now) {
  switch (frame.service()) {
    case wire::Service::rc:
    case wire::Service::cnp:
      return {find(from, frame, frame.destination_qpn(), now).value_or(settings_.self)};
    case wire::Service::ud:
      if (frame.destination_qpn() == wire::kGsiQpn) return cm(from, frame, now);
      break;
    case wire::Service::uc:
    case wire::Service::rd:
    case wire::Service::other:
      break;
  }
  return {settings_.self};
}

std::optional<Worker> Steering::find(Side from, const wire::Frame& frame, std::uint32_t destination_qpn, Time now) {
  if (connections() == 0) return std::nullopt;
  const auto entry = found(from, flow::key_of(frame, destination_qpn), now);
  if (!entry) return std::nullopt;
  Life& life = lives_[entry->index];
  life.last_seen = now;
  if (life.unproven && from == Side::host) [[unlikely]]
    led_away_[led_away_slot(frame.source, frame.destination)] = now;
  return entry->owner;
}

std::optional<Steering::Found> Steering::found(Side from, const KeyIndex::KeyView& key, Time now) {
  while (const auto value = by_side_[from].find(key)) {
    const Index index = *value >> kOwnerBits;
    if (now < lives_[index].closes) [[likely]]
      return Found{index, static_cast<Worker>(*value & ((1u << kOwnerBits) - 1))};
    forget(index);  // an older entry may have the key
  }
  return std::nullopt;
}

bool Steering::sees_whole(const flow::ConnectionInfo& info, Time now) const {
  const Time last = led_away_[led_away_slot(info.end(Side::host).ip, info.end(Side::wan).ip)];
  return last == 0 || now - last > kLearnsFrom;
}

// ---- RDMA-CM ----------------------------------------------------------------------------------

Target Steering::cm(Side from, const wire::Frame& frame, Time now) {
  using wire::CmAttribute;
  const Target home{settings_.self};
  const auto message = wire::parse_cm(frame);
  if (!message || frame.roce_size() > kLongestRequest) return home;
  // As the engine judges it: if one of the two ignored a message, they would know different things.
  if (!wire::verify_icrc(frame) || !flow::header_checksums_good(frame)) return home;

  // Before the tracker handles the message: one that ends the exchange still belongs to it.
  auto index = tracker_.connection_about(frame, *message, from);
  flow::CmOutcome outcome = tracker_.handle(frame, *message, from, now);
  if (outcome.event == flow::CmEvent::repeated) index = outcome.connection;
  if (outcome.event == flow::CmEvent::replied) {
    index = replied(outcome, now);
    if (!index) {
      const Target target = without_place(outcome.info, frame, *message);
      tracker_.leave(1U + target.worker);
      return target;
    }
  }
  // A repeated REP of a connection without an entry: its requests may have passed already, so no other engine may learn
  // it.
  if (outcome.event == flow::CmEvent::none && outcome.mark != 0) return {static_cast<Worker>(outcome.mark - 1)};
  if (outcome.event == flow::CmEvent::established) {
    index = outcome.connection;
    established(*index);
    if (!entries_[*index].in_use) return home;
    if (message->attribute == CmAttribute::dreq) outcome = tracker_.handle(frame, *message, from, now);
  }
  // A connection older than the box is known by its QPNs alone.
  if (!index && message->attribute == CmAttribute::dreq)
    return {find(from, frame, message->remote_qpn, now).value_or(settings_.self)};
  if (!index) return home;

  lives_[*index].last_seen = now;
  Target target{owner(*index)};
  if (message->attribute == CmAttribute::rep && target.worker != settings_.self)
    target.request = tracker_.request_of(frame, *message);
  // Custody of a connection learned from traffic outlives its DREQ, until give_up.
  if (outcome.event == flow::CmEvent::disconnect_requested && !entries_[*index].inherited)
    lives_[*index].closes = now + std::max(kCloseWait, entries_[*index].give_up);
  if (outcome.event == flow::CmEvent::rejected || outcome.event == flow::CmEvent::disconnected) ended(*index);
  return target;
}

void Steering::restore(const flow::ConnectionInfo& info, const std::optional<flow::CmExchange>& exchange, Worker owner,
                       Time now) {
  const auto index = admit(info, owner, now);
  if (!index || !link_both(*index)) return;
  count_spread(*index);
  if (exchange) tracker_.restore(*index, info, *exchange);
}

// As the engine judges it: an old connection keeps its QPNs until the active end has shown that it has read the REP.
// The REP to our host's REQ is such a proof itself, for the QPN in it. Meanwhile all frames of the exchange go to one
// worker.
std::optional<Steering::Index> Steering::replied(const flow::CmOutcome& outcome, Time now) {
  const auto leads_there = [&](Side side) {
    return holder(flow::key_of(outcome.info, side), side) == outcome.connection;
  };
  // The connection's REQ had been forgotten, and came again. After a DREQ it would be the next connection's.
  if (outcome.connection && outcome.same_transaction && lives_[*outcome.connection].closes == kNever &&
      leads_there(Side::host) && leads_there(Side::wan)) {
    tracker_.bind(*outcome.connection);
    return outcome.connection;
  }
  const auto index = admit(outcome.info, std::nullopt, now);
  if (!index) return std::nullopt;
  Entry& entry = entries_[*index];
  for (const Side side : kSides) {
    const bool announced = side == Side::host && outcome.active_side == Side::host;
    if (!announced && holder(entry.keys[side], side))
      entry.waits = true;
    else if (!link_or_forget(*index, side))
      return std::nullopt;
  }
  count_spread(*index);
  const bool unproven = outcome.active_side == Side::wan;
  lives_[*index].unproven = unproven && owner(*index) != settings_.self;
  if (entry.waits)
    tracker_.postpone(0, *index);
  else
    tracker_.bind(*index, unproven);
  return index;
}

// A connection without an entry stays at home, unless one of its QPNs leads to another worker, whose engine has a
// former user of that QPN. If both QPNs lead to the same other worker, its engine follows the newcomer too, and the
// entries of the former users must outlast those connections. If the QPNs lead to different workers, no engine sees
// both requests and answers, so none must learn the connection: the REP goes where the REQ was not seen.
Target Steering::without_place(const flow::ConnectionInfo& info, const wire::Frame& frame,
                               const wire::CmMessage& reply) {
  const BySide<std::optional<Index>> former{holder(flow::key_of(info, Side::host), Side::host),
                                            holder(flow::key_of(info, Side::wan), Side::wan)};
  const auto way = [&](Side side) {
    const auto& old = former[side];
    return old ? owner(*old) : settings_.self;
  };
  const Worker host = way(Side::host);
  const Worker wan = way(Side::wan);
  Target target{host == settings_.self ? wan : host};
  if (host == wan && host != settings_.self) {
    target.request = tracker_.request_of(frame, reply);
    for (const auto& old : former) {
      entries_[*old].inherited = true;
      lives_[*old].closes = kNever;
    }
  }
  return target;
}

void Steering::ended(Index index) {
  if (entries_[index].inherited)
    tracker_.forget(index);
  else
    forget(index);
}

void Steering::count_spread(Index index) {
  if (owner(index) != settings_.self) ++counters_[Counter::connections_spread];
}

void Steering::established(Index index) {
  entries_[index].waits = false;
  lives_[index].unproven = false;
  if (link_both(index)) tracker_.bind(index);
}

// ---- the table --------------------------------------------------------------------------------

std::optional<Steering::Index> Steering::holder(const KeyIndex::KeyView& key, Side from) const {
  const auto found = by_side_[from].find(key);
  if (!found) return std::nullopt;
  return *found >> kOwnerBits;
}

// A QPN that is announced anew stays with the worker of its former user: only that engine knows what is in custody for
// the QPN, and decides which of the two connections goes on. If the two QPNs had users with different workers, the QPN
// beyond the WAN decides, because resends go there.
std::optional<Worker> Steering::former_owner(const flow::ConnectionInfo& info) const {
  for (const Side side : kSides) {
    if (const auto old = holder(flow::key_of(info, side), side)) return owner(*old);
    // A connection that nobody spread is in the home's engine alone.
    if (settings_.own_engine_knows && settings_.own_engine_knows(info, side)) return settings_.self;
  }
  return std::nullopt;
}

std::optional<Steering::Index> Steering::admit(const flow::ConnectionInfo& info, std::optional<Worker> given,
                                               Time now) {
  const std::optional<Worker> bound = given ? given : former_owner(info);
  make_room(now);
  if (free_.empty()) {
    ++counters_[Counter::connections_at_home];
    return std::nullopt;
  }
  const Index index = free_.back();
  free_.pop_back();
  Entry entry;
  entry.in_use = true;
  entry.owner = bound ? *bound : least_loaded();
  for (const Side side : kSides) entry.keys[side] = flow::key_of(info, side).copy();
  entry.give_up = settings_.patience.give_up(info);
  entries_[index] = entry;
  lives_[index] = {now, kNever};
  ++load_[entry.owner];
  return index;
}

bool Steering::link_or_forget(Index index, Side from) {
  if (entries_[index].linked[from] || link(index, from)) return true;
  forget(index);
  ++counters_[Counter::connections_at_home];
  return false;
}

bool Steering::link_both(Index index) { return link_or_forget(index, Side::host) && link_or_forget(index, Side::wan); }

Worker Steering::least_loaded() const {
  // Among equals the next after self: the home has its own work with the frames of all.
  Worker best = settings_.owners.front();
  const auto rank = [this](Worker worker) {
    return std::pair(load_[worker], (worker + kMaxWorkers - settings_.self - 1u) % kMaxWorkers);
  };
  for (const Worker worker : settings_.owners)
    if (rank(worker) < rank(best)) best = worker;
  return best;
}

bool Steering::is_over(Index index, Time now) const {
  const Life& life = lives_[index];
  if (entries_[index].waits && now - life.last_seen > flow::CmTracker::kPendingLife) return true;
  return now >= life.closes || now - life.last_seen > std::max(kIdle, entries_[index].give_up);
}

void Steering::make_room(Time now) {
  if (!free_.empty()) return;
  for (unsigned i = 0; i < kIdleSearch; ++i) {
    const Index index = clock_hand_;
    clock_hand_ = (clock_hand_ + 1) % static_cast<Index>(entries_.size());
    if (!entries_[index].in_use || !is_over(index, now)) continue;
    forget(index);
    return;
  }
}

bool Steering::lead_to(Index index, Side side) {
  const Entry& entry = entries_[index];
  return by_side_[side].put(entry.keys[side], index << kOwnerBits | entry.owner);
}

// False when there is no room for the key.
bool Steering::link(Index index, Side side) {
  Entry& entry = entries_[index];
  const auto old = holder(entry.keys[side], side);
  if (!lead_to(index, side)) return false;
  entry.linked[side] = true;
  if (!old) return true;
  entry.older[side] = *old;
  Entry& older = entries_[*old];
  older.newer[side] = index;
  // Both QPNs of the older connection have been announced anew: it has ended, unseen.
  if (older.newer[Side::host] != kNone && older.newer[Side::wan] != kNone) forget(*old);
  return true;
}

void Steering::unlink(Index index, Side side) {
  Entry& entry = entries_[index];
  if (!entry.linked[side]) return;
  const Index newer = entry.newer[side];
  const Index older = entry.older[side];
  if (older != kNone) entries_[older].newer[side] = newer;
  if (newer != kNone)
    entries_[newer].older[side] = older;
  else if (older != kNone)
    lead_to(older, side);  // cannot fail: the key has its place
  else
    by_side_[side].erase(entry.keys[side]);
  entry.linked[side] = false;
}

void Steering::forget(Index index) {
  Entry& entry = entries_[index];
  if (!entry.in_use) return;
  entry.in_use = false;
  for (const Side side : kSides) unlink(index, side);
  // A newer entry may hold one of these QPNs, and wait for its RTU because of the other. It takes the other now: its
  // engine has followed the connection since the REP, and must see the answers too.
  for (const Side side : kSides) {
    const Index heir = entry.newer[other(side)];
    const auto& key = entry.keys[side];
    if (heir != kNone && entries_[heir].keys[side] == key && !holder(key, side)) link(heir, side);
  }
  --load_[entry.owner];
  tracker_.forget(index);
  free_.push_back(index);
}

}  // namespace longhaul::steer
