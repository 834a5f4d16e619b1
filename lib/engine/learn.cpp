// SPDX-License-Identifier: BSD-3-Clause
// How connections become known (design section 4): by what RDMA-CM says, or by their traffic alone.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/fair_share.hpp"
#include "engine/engine_impl.hpp"
#include "flow/lifetimes.hpp"
#include "wire/cm.hpp"

namespace longhaul::engine {

using custody::Verdict;

namespace {

// Unique in the process: the engines of all workers draw from it.
std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return serial.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool is_same(const flow::ConnectionInfo& one, const flow::ConnectionInfo& another) {
  return std::ranges::all_of(std::array{Side::host, Side::wan}, [&](Side side) {
    return one.end(side).qpn == another.end(side).qpn && one.end(side).starting_psn == another.end(side).starting_psn;
  });
}

}  // namespace

Verdict Engine::Impl::cm(Side side, const wire::Frame& frame, rte_mbuf* mbuf) {
  const auto message = wire::parse_cm(frame);
  if (!message) return Verdict::forward;
  if (!intact(frame)) return Verdict::forward;
  ++counters[Counter::cm_messages];
  flow::CmOutcome outcome = tracker.handle(frame, *message, side, now);
  if (outcome.event == flow::CmEvent::established) {
    established(outcome);
    if (message->attribute != wire::CmAttribute::dreq) return Verdict::forward;
    outcome = tracker.handle(frame, *message, side, now);
  }
  switch (outcome.event) {
    case flow::CmEvent::none:
    case flow::CmEvent::established:
      return Verdict::forward;
    case flow::CmEvent::unmatched:
      if (const auto index = disconnecting(side, frame, *message))
        return disconnect_requested(side, *index, *message, mbuf);
      ++counters[Counter::cm_unmatched];
      return Verdict::forward;
    case flow::CmEvent::table_full:
      ++counters[Counter::cm_table_full];
      return Verdict::forward;
    case flow::CmEvent::replied:
      replied(outcome, outcome.active_side == Side::host ? message->remote_comm_id : message->local_comm_id);
      return Verdict::forward;
    case flow::CmEvent::repeated:
      if (message->attribute == wire::CmAttribute::rep) void_dreqs(*outcome.connection);
      exchange_repeated(*outcome.connection);
      return Verdict::forward;
    case flow::CmEvent::disconnect_requested:
      return disconnect_requested(side, *outcome.connection, *message, mbuf);
    case flow::CmEvent::rejected:
    case flow::CmEvent::disconnected:
      close(*outcome.connection);
      return Verdict::forward;
  }
  return Verdict::forward;
}

custody::FlowIdentity Engine::Impl::identity_of(const flow::ConnectionInfo& info) {
  const flow::End& requester = info.end(Side::host);
  const flow::End& responder = info.end(Side::wan);
  return {next_serial(), requester.ip, responder.ip, requester.qpn, responder.qpn};
}

// Takes a slot for `info`, and sets the flow's identity, policy and path MTU.
std::optional<flow::ConnectionIndex> Engine::Impl::admit(const flow::ConnectionInfo& info, bool from_traffic) {
  // When its owner announces the responder's QPN anew, the owner has forgotten whatever it had before. Traffic
  // announces nothing: it must wait until custody of the QPN's former user has ended. When the requester's QPN is in a
  // connection to another QP, what is in custody still has its responder and goes on; the newcomer passes through.
  const auto announced = from_traffic ? std::nullopt : table.holder(info, Side::host);
  for (const Side key : kSides) {
    const auto old = table.holder(info, key);
    if (!old || old == announced) continue;
    custody::NearFlow& flow = connections[*old].near;
    const bool held = !flow.queue.empty();
    // A connection that was answered just now is alive: what traffic seems to teach comes from late answers.
    if (!held && !(from_traffic && custody::NearPart::answered_lately(flow, now))) continue;
    ++counters[Counter::connection_qpn_held];
    // The newcomer's answers go to the same QPN.
    if (held && key == Side::wan) flow.trust.silent |= custody::kShared;
    return std::nullopt;
  }
  for (const Side key : kSides)
    if (const auto old = table.holder(info, key)) close(*old);
  if (!make_room(info)) return std::nullopt;
  const auto index = table.insert(info);
  if (!index) {
    ++counters[Counter::connection_table_full];
    return std::nullopt;
  }
  Connection& connection = connections[*index];
  // The backlog and the list of this burst may still name the slot's former tenant; that does no harm.
  const bool in_backlog = connection.in_backlog;
  const bool was_touched = connection.touched;
  connection = Connection{};
  connection.in_backlog = in_backlog;
  connection.touched = was_touched;
  connection.last_seen = now;
  connection.from_traffic = from_traffic;
  connection.pair = next_hops.acquire(info.end(Side::host).ip, info.end(Side::wan).ip, info.vlan);

  custody::NearFlow& flow = connection.near;
  flow.identity = identity_of(info);
  flow.connection = *index;
  flow.holding = &near.holding(connection.pair);
  flow.policy = settings.policies.lookup(flow.identity.requester, flow.identity.responder, info.ece);
  flow.path_mtu = info.path_mtu;
  ++counters[Counter::connections_learned];
  counters[Counter::flows_learned] += 2;
  if (observer != nullptr) observer->on_flow_learned(flow.identity, now);
  return index;
}

void Engine::Impl::learn(const flow::ConnectionInfo& info, bool proven, bool wants_word) {
  const auto index = admit(info, false);
  if (!index) return;
  const std::uint32_t starting_psn = info.end(Side::host).starting_psn;
  // The REP may be a repeat: what followed the first REP may have passed before the box looked, or before it knew the
  // connection. Then the active end's word does not replace an answer.
  const bool may_be_under_way = (looks_since != 0 && now - looks_since < flow::CmTracker::kPendingLife) ||
                                learner.has_seen(info, now) || elsewhere_seen(info, starting_psn);
  tracker.bind(*index, wants_word && !may_be_under_way);
  if (wants_word) connections[*index].near.trust.silent |= custody::kUnproven;
  const flow::Patience patience{settings.give_up, settings.longest_give_up};
  near.begin(connections[*index].near, starting_psn, patience.give_up(info), proven && !may_be_under_way, now);
  connections[*index].near.ack_timeout = info.ack_timeout;
  record_connection(*index);
}

// An old connection that has one of the QPNs ends only on proof. A REQ proves nothing: anyone can forge one to a
// service that really listens, and the REP is then genuine. When the host is the active end, the REP itself is a proof:
// it names IDs that only the far end could read. Everything else waits for the active end's word.
void Engine::Impl::replied(const flow::CmOutcome& outcome, std::uint32_t host_comm_id) {
  const flow::ConnectionInfo& info = outcome.info;
  for (const Side key : kSides)
    if (const auto old = table.holder(info, key); old && connections[*old].dreqs.waits(host_comm_id)) void_dreqs(*old);
  // The connection's REQ had been forgotten, and came again. After a DREQ it would be the next connection's.
  if (outcome.connection && outcome.same_transaction && is_same(table[*outcome.connection], info) &&
      connections[*outcome.connection].close_deadline == kNever) {
    tracker.bind(*outcome.connection, false);
    exchange_repeated(*outcome.connection);
    return;
  }
  if (outcome.connection) void_dreqs(*outcome.connection);
  if (const auto old = table.holder(info, Side::host)) {
    if (outcome.active_side == Side::host) {
      close(*old);
    } else {
      const std::uint32_t first = info.end(Side::host).starting_psn;
      near.announced_anew(connections[*old].near, first, now);
      touch(*old);
    }
  }
  if (table.holder(info, Side::host) || table.holder(info, Side::wan))
    tracker.postpone(next_serial());
  else
    learn(info, outcome.active_side == Side::host, outcome.active_side == Side::wan);
}

void Engine::Impl::established(const flow::CmOutcome& outcome) {
  if (outcome.connection) return near.established(connections[*outcome.connection].near);
  // A connection learned since the REP is this very one, learned from its traffic, or a later one.
  for (const Side key : kSides)
    if (const auto holder = table.holder(outcome.info, key);
        holder && connections[*holder].near.identity.serial > outcome.mark)
      return;
  learn(outcome.info, false, false);
}

// Before any data this is a plain repeat. Later it may be another life of both ends, with the same IDs, QPNs and PSNs.
void Engine::Impl::exchange_repeated(flow::ConnectionIndex index) {
  custody::NearFlow& flow = connections[index].near;
  const std::uint32_t starting_psn = table[index].end(Side::host).starting_psn;
  if (flow.tail == starting_psn && flow.sent_top == starting_psn) return;
  near.announced_anew(flow, starting_psn, now);
  if (peering != nullptr) end_pairing(index);
  touch(index);
}

// The frame belongs to no known connection (`unknown`), or perhaps not to the known one: one of the QPNs may have
// another user now. While the old connection has custody, the newcomer does not take its place, but the newcomer's
// answers must not be taken for another connection's. Requests of far hosts, and our hosts' answers to them, are for
// the other box to learn from.
void Engine::Impl::learn_from_traffic(Side side, const wire::Frame& frame, bool unknown) {
  const bool is_answer = frame.opcode != nullptr && frame.opcode->is_response();
  if (!settings.learn_from_traffic || (side == Side::host) == is_answer) return;
  const auto& requester = is_answer ? frame.destination : frame.source;
  const auto& responder = is_answer ? frame.source : frame.destination;
  if (settings.policies.lookup(requester, responder) == flow::Policy::off || !intact(frame)) return;
  // Built only where it is needed: an answer rarely needs it.
  const auto hosts = [&] { return UnknownRequests::Hosts{requester, responder, frame.vlan}; };
  if (!is_answer) {
    note_next_hop(frame);
    if (shared != nullptr) (unknown ? shared->unknown_requests : *contested_requests).note(hosts(), frame.psn(), now);
    if (!learner.request(frame, now)) ++counters[Counter::traffic_table_full];
    return;
  }
  if ((presumed_requests->any() && fits_presumed(hosts(), frame)) ||
      (shared != nullptr && contested_elsewhere(hosts(), frame.psn()))) {
    ++counters[Counter::traffic_ambiguous];
    return;
  }
  const flow::TrafficOutcome outcome = learner.answer(frame, now);
  switch (outcome.event) {
    case flow::TrafficEvent::none:
      return;
    case flow::TrafficEvent::ambiguous:
      ++counters[Counter::traffic_ambiguous];
      return;
    case flow::TrafficEvent::contradicted:
      ++counters[Counter::traffic_contradicted];
      return;
    case flow::TrafficEvent::learned:
      break;
  }
  if (may_learn && !may_learn(outcome.info, now)) return;
  if (knows(outcome.info, outcome.una)) return;
  const auto index = admit(outcome.info, true);
  if (!index) return;
  learner.forget(outcome.info);
  connections[*index].derived_port = outcome.derived_port;
  ++counters[Counter::connections_from_traffic];
  near.begin_midway(connections[*index].near, outcome.una, outcome.msn, outcome.next_psn, now);
  record_connection(*index);
}

// Late answers may teach a connection that is known already. Whether it lives another life is for its own flow to
// decide (custody/identity.cpp). A failed flow must stay until its requester has been told.
bool Engine::Impl::knows(const flow::ConnectionInfo& info, std::uint32_t psn) const {
  const auto index = table.holder(info, Side::host);
  return index && index == table.holder(info, Side::wan) && custody::NearPart::plausible(connections[*index].near, psn);
}

// The requester's QPN may have another responder now, unannounced, with the same starting PSN. The learner may know
// nothing of a contested flow's neighbours: it had no room, or it is told not to learn.
bool Engine::Impl::may_be_anothers(const custody::NearFlow& flow, std::uint32_t psn) {
  const flow::ConnectionInfo& info = table[flow.connection];
  const bool unseen = learner.lacks_room(info, now) || (flow.trust.was_confirmed && !settings.learn_from_traffic);
  if (flow.contested() && unseen) return true;
  if (const auto judged = judged_by_port(flow, psn)) return *judged;
  return learner.may_be_meant(info, psn, now) || elsewhere_seen(info, psn);
}

// A candidate with the same PSNs that was there before `since` belongs to another requester.
bool Engine::Impl::may_have_moved(const custody::NearFlow& flow, std::uint32_t psn, Time since) {
  if (const auto judged = judged_by_port(flow, psn, since)) return *judged;
  const flow::ConnectionInfo& info = table[flow.connection];
  return learner.may_be_meant(info, psn, now, since) || elsewhere_seen(info, psn, since);
}

// Whether the answer that is looked at may be another connection's, as far as its UDP source port tells. Where hosts
// derive ports from both QPNs, the answer of another responder to the same requester comes from another port. This
// worker's learner has seen all requests of unknown connections between these hosts, because it learned this one.
std::optional<bool> Engine::Impl::judged_by_port(const custody::NearFlow& flow, std::uint32_t psn,
                                                 std::optional<Time> since) const {
  if (answering == nullptr || !connections[flow.connection].derived_port) return std::nullopt;
  const flow::ConnectionInfo& info = table[flow.connection];
  if (answering->udp_source_port() != flow::derived_port_of(info) || learner.shares_port(info, psn, now, since))
    return true;
  const UnknownRequests::Hosts hosts{info.end(Side::host).ip, info.end(Side::wan).ip, info.vlan};
  return shared != nullptr && contested_elsewhere(hosts, psn, since);
}

bool Engine::Impl::may_listen_elsewhere(const custody::NearFlow& flow, std::uint32_t psn, Time since) {
  return learner.is_blind(table[flow.connection], now) || may_have_moved(flow, psn, since);
}

// A DREQ of the life before does not concern this one, nor does that life's RDMA-CM exchange.
void Engine::Impl::began_again(const custody::NearFlow& flow) {
  const flow::ConnectionIndex index = flow.connection;
  void_dreqs(index);
  tracker.forget(index);
  connections[index].from_traffic = true;
  connections[index].close_deadline = kNever;
}

// The flow's requests are no longer shown to the learner, which would take those it has seen for unanswered for ever.
void Engine::Impl::uncontested(const custody::NearFlow& flow) { learner.forget(table[flow.connection]); }

// Only one of several workers sees the requests of all unknown connections between two hosts.
bool Engine::Impl::elsewhere_seen(const flow::ConnectionInfo& info, std::uint32_t psn,
                                  std::optional<Time> since) const {
  const UnknownRequests::Hosts hosts{info.end(Side::host).ip, info.end(Side::wan).ip, info.vlan};
  return shared != nullptr &&
         (shared->unknown_requests.may_be_meant(hosts, psn, now, since) || contested_elsewhere(hosts, psn, since));
}

// An ACK for `psn` may answer contested requests that another worker has seen. Needs `shared`.
bool Engine::Impl::contested_elsewhere(const UnknownRequests::Hosts& hosts, std::uint32_t psn,
                                       std::optional<Time> since) const {
  auto& all = shared->contested_requests;
  return std::any_of(all.begin(), all.end(), [&](UnknownRequests& requests) {
    return &requests != contested_requests && requests.may_be_meant(hosts, psn, now, since);
  });
}

// The ACK may answer requests that some worker has taken for a known connection's.
bool Engine::Impl::fits_presumed(const UnknownRequests::Hosts& hosts, const wire::Frame& answer) {
  return presumed_requests->may_be_meant(hosts, answer.psn(), now, std::nullopt, answer.udp_source_port());
}

// A place for a connection of these hosts. Where there is none for them, a connection without custody makes room: one
// that has been idle for long, one of theirs that was never proven, or one of a pair of hosts that has more of them.
// Counts it when there is no room.
bool Engine::Impl::make_room(const flow::ConnectionInfo& info) {
  const NextHops::PairIndex pair = next_hops.find(info.end(Side::host).ip, info.end(Side::wan).ip, info.vlan);
  const std::uint32_t own = next_hops.connections(pair);
  const std::uint32_t all = table.capacity() - table.free();
  const std::uint64_t limit = pair_limit_of(table.capacity(), settings.connections_pair_share);
  const bool at_limit = own >= limit;
  if (table.has_room() && within_share(own + 1, limit, all, table.capacity(), own != all)) return true;

  const auto may_go = [&](const Connection& connection) {
    if (!connection.near.queue.empty() || (at_limit && connection.pair != pair)) return false;
    if (now - connection.last_seen > flow::kIdle) return true;
    // Its REQ may be forged: nothing has ever answered it.
    const bool unproven = (connection.near.trust.silent & custody::kUnproven) != 0 &&
                          connection.near.phase == custody::Phase::unconfirmed;
    if (unproven && connection.pair == pair) return true;
    return next_hops.connections(connection.pair) > own + 1 && connection.dreqs.empty() &&
           connection.near.phase != custody::Phase::failed;
  };
  for (unsigned i = 0; i < flow::kIdleSearch; ++i) {
    const flow::ConnectionIndex index = clock_hand;
    clock_hand = (clock_hand + 1) % table.capacity();
    if (!table.in_use(index) || !may_go(connections[index])) continue;
    if (now - connections[index].last_seen <= flow::kIdle) ++counters[Counter::connections_made_room];
    close(index);
    return true;
  }
  ++counters[table.has_room() ? Counter::connection_pair_full : Counter::connection_table_full];
  return false;
}

}  // namespace longhaul::engine
