// SPDX-License-Identifier: BSD-3-Clause
#include "flow/cm_tracker.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/psn.hpp"

namespace longhaul::flow {

namespace {

/// 4.096 us * 2^code (IBTA vol. 1, 9.9.2.1.1 and 12.7.34); code 0 means no timeout.
Duration ack_timeout_of(std::uint8_t code) { return code == 0 ? 0 : (std::uint64_t{4096} << code); }

}  // namespace

CmTracker::CmTracker(std::uint32_t max_pending, std::uint32_t connections, bool keep_requests)
    : max_pending_(max_pending), keep_requests_(keep_requests) {
  // A table that grew would move all of its entries while a frame waits.
  pending_.reserve(max_pending + 1);
  by_hosts_.reserve(max_pending + 1);
  waiting_.reserve(max_pending + 1);
  live_.reserve(connections);
  keys_.reserve(connections + max_pending + 1);
}

CmTracker::ExchangeKey CmTracker::key_from_active(const wire::Frame& frame, std::uint32_t comm_id) {
  return {frame.vlan.value, frame.source.bytes, frame.destination.bytes, comm_id};
}

CmTracker::ExchangeKey CmTracker::key_from_passive(const wire::Frame& frame, std::uint32_t comm_id) {
  return {frame.vlan.value, frame.destination.bytes, frame.source.bytes, comm_id};
}

CmOutcome CmTracker::handle(const wire::Frame& frame, const wire::CmMessage& message, Side from, Time now) {
  using wire::CmAttribute;
  switch (message.attribute) {
    case CmAttribute::req:
      return on_request(frame, message, from, now);
    case CmAttribute::rep:
      return on_reply(frame, message, from);
    case CmAttribute::rej:
      return on_reject(frame, message, from);
    case CmAttribute::mra:
    case CmAttribute::rtu:
      return on_word_of_active(frame, message, from);
    case CmAttribute::dreq:
      if (const CmOutcome outcome = on_word_of_active(frame, message, from); outcome.event != CmEvent::none)
        return outcome;
      return on_disconnect(frame, message, from);
    case CmAttribute::drep:
      return on_disconnect(frame, message, from);
  }
  return {};
}

bool CmTracker::same_request(const ConnectionInfo& one, const ConnectionInfo& another, Side active_side) {
  const Side passive_side = other(active_side);
  return one.end(active_side).qpn == another.end(active_side).qpn &&
         one.end(passive_side).starting_psn == another.end(passive_side).starting_psn &&
         one.path_mtu == another.path_mtu && one.retry_count == another.retry_count &&
         one.ack_timeout == another.ack_timeout;
}

CmOutcome CmTracker::on_request(const wire::Frame& frame, const wire::CmMessage& message, Side from, Time now) {
  CmOutcome outcome;
  if (!message.reliable_connected) return outcome;
  const PendingKey key{key_from_active(frame, message.local_comm_id), message.transaction_id};

  Pending pending;
  pending.active_side = from;
  pending.since = now;
  pending.info.vlan = frame.vlan;
  pending.info.path_mtu = wire::path_mtu_bytes(message.path_mtu);
  pending.info.retry_count = message.retry_count;
  pending.info.ack_timeout = ack_timeout_of(message.local_ack_timeout);
  pending.info.ece = EceExchange{message.ece, {}};
  End& active = pending.info.end(from);
  End& passive = pending.info.end(other(from));
  active.ip = frame.source;
  active.qpn = message.local_qpn;
  passive.ip = frame.destination;
  // The Starting PSN of a message is what its *receiver* sends with (verified on captures of real stacks).
  passive.starting_psn = message.starting_psn & wire::kPsnMask;

  if (const auto found = pending_.find(key); found != pending_.end()) {
    const Pending& before = found->second;
    if (before.active_side == from && same_request(before.info, pending.info, from)) {
      if (stands(key, before)) {
        outcome.event = CmEvent::repeated;
        outcome.connection = before.connection;
      }
      return outcome;
    }
    erase_pending(*found);  // the host has restarted, and its IDs begin where they did before
  }
  const HostsKey hosts = hosts_of(key.first);
  make_room(hosts, outcome, now);
  if (keep_requests_) pending.request.assign(frame.data, frame.data + frame.roce_size());
  pending.own = &by_hosts_[hosts];
  PendingEntry& entry = *pending_.emplace(key, std::move(pending)).first;
  entry.second.age = by_age_.insert(by_age_.end(), &entry);
  entry.second.among_own = entry.second.own->insert(entry.second.own->end(), &entry);
  return outcome;
}

void CmTracker::make_room(const HostsKey& hosts, CmOutcome& outcome, Time now) {
  const auto is_old = [now](const PendingEntry* entry) { return now - entry->second.since > kPendingLife; };
  // More go than come, until no expired one is left.
  constexpr unsigned kExpiredAtOnce = 2;
  for (unsigned i = 0; i < kExpiredAtOnce && !by_age_.empty() && is_old(by_age_.front()); ++i)
    erase_pending(*by_age_.front());
  if (pending_.size() < max_pending_) return;
  constexpr unsigned kLooks = 8;
  const auto own = by_hosts_.find(hosts);
  std::size_t most = own == by_hosts_.end() ? 0 : own->second.size();
  PendingEntry* goes = most == 0 ? by_age_.front() : own->second.front();
  unsigned looks = 0;
  for (auto entry = by_age_.begin(); entry != by_age_.end() && looks < kLooks; ++entry, ++looks) {
    const std::size_t its = (*entry)->second.own->size();
    if (its <= most) continue;
    most = its;
    goes = *entry;
  }
  if (!goes->second.answered && !is_old(goes)) outcome.event = CmEvent::table_full;
  erase_pending(*goes);
}

// The exchange has set up a connection, which still lives.
bool CmTracker::stands(const PendingKey& key, const Pending& pending) const {
  const auto live = live_.find({key.first, pending.passive_comm_id});
  return pending.answered && live != live_.end() && live->second.connection == pending.connection;
}

CmOutcome CmTracker::on_reply(const wire::Frame& frame, const wire::CmMessage& message, Side from) {
  CmOutcome outcome;
  const PendingKey key{key_from_passive(frame, message.remote_comm_id), message.transaction_id};
  const auto found = pending_.find(key);
  if (found == pending_.end() || found->second.active_side == from) {
    outcome.event = CmEvent::unmatched;
    return outcome;
  }
  Pending& pending = found->second;
  std::uint32_t& passive_qpn = pending.info.end(from).qpn;
  std::uint32_t& active_psn = pending.info.end(other(from)).starting_psn;
  const std::uint32_t starting_psn = message.starting_psn & wire::kPsnMask;
  if (pending.answered && pending.passive_comm_id == message.local_comm_id && passive_qpn == message.local_qpn &&
      active_psn == starting_psn) {
    if (!stands(key, pending)) {
      if (!pending.waits) outcome.mark = pending.mark;
      return outcome;
    }
    outcome.event = CmEvent::repeated;
    outcome.connection = pending.connection;
    return outcome;
  }
  // An answer that differs from the first is of another life of the passive end.
  stop_waiting(key, pending);
  pending.connection.reset();
  pending.answered = true;
  pending.passive_comm_id = message.local_comm_id;
  passive_qpn = message.local_qpn;
  active_psn = starting_psn;
  pending.info.ece->accepted = message.ece;
  outcome.event = CmEvent::replied;
  // The same exchange, whose REQ was forgotten meanwhile, or ends whose IDs have begun again?
  if (const auto live = live_.find({key.first, message.local_comm_id});
      live != live_.end() && live->second.active_side != from) {
    outcome.connection = live->second.connection;
    outcome.same_transaction = live->second.transaction_id == key.second;
  }
  outcome.info = pending.info;
  outcome.active_side = pending.active_side;
  unsettled_ = key;
  return outcome;
}

CmOutcome CmTracker::on_reject(const wire::Frame& frame, const wire::CmMessage& message, Side from) {
  CmOutcome outcome;
  // A REJ from the passive end answers the REQ, one from the active end the REP. The transaction ID is the REQ's.
  const auto by_passive = pending_.find({key_from_passive(frame, message.remote_comm_id), message.transaction_id});
  if (by_passive != pending_.end() && by_passive->second.active_side != from && !by_passive->second.answered) {
    erase_pending(*by_passive);
    return outcome;
  }
  const auto by_active = pending_.find({key_from_active(frame, message.local_comm_id), message.transaction_id});
  if (by_active != pending_.end() && by_active->second.active_side == from && by_active->second.answered) {
    const Pending& pending = by_active->second;
    // An exchange that got no place has nothing to end.
    if (pending.connection && pending.passive_comm_id == message.remote_comm_id) {
      outcome.event = CmEvent::rejected;
      outcome.connection = pending.connection;
    }
    erase_pending(*by_active);
    return outcome;
  }
  outcome.event = CmEvent::unmatched;
  return outcome;
}

// RTU, MRA and DREQ of the active end carry the communication ID that the REP assigned, so their sender has read the
// REP. A REJ proves as much, but wants no connection. A DREP proves nothing: a host also answers a DREQ of an exchange
// that it does not know, with the IDs from the DREQ.
CmOutcome CmTracker::on_word_of_active(const wire::Frame& frame, const wire::CmMessage& message, Side from) {
  CmOutcome outcome;
  if (waiting_.empty()) return outcome;  // the usual case
  const auto waiting = waiting_.find({key_from_active(frame, message.local_comm_id), message.remote_comm_id});
  if (waiting == waiting_.end()) return outcome;
  const PendingKey key{waiting->first.exchange, waiting->second};
  Pending& pending = pending_.at(key);
  if (pending.active_side != from) return outcome;
  stop_waiting(key, pending);
  outcome.event = CmEvent::established;
  outcome.info = pending.info;
  outcome.active_side = pending.active_side;
  outcome.mark = pending.mark;
  outcome.connection = pending.connection;
  unsettled_ = key;
  return outcome;
}

CmOutcome CmTracker::on_disconnect(const wire::Frame& frame, const wire::CmMessage& message, Side from) const {
  CmOutcome outcome;
  outcome.connection = find_live(frame, message, from);
  if (!outcome.connection)
    outcome.event = CmEvent::unmatched;
  else
    outcome.event =
        message.attribute == wire::CmAttribute::dreq ? CmEvent::disconnect_requested : CmEvent::disconnected;
  return outcome;
}

// The message must come in on its sender's side.
std::optional<ConnectionIndex> CmTracker::find_live(const wire::Frame& frame, const wire::CmMessage& message,
                                                    Side from) const {
  if (const auto found = live_.find({key_from_active(frame, message.local_comm_id), message.remote_comm_id});
      found != live_.end() && found->second.active_side == from)
    return found->second.connection;
  if (const auto found = live_.find({key_from_passive(frame, message.remote_comm_id), message.local_comm_id});
      found != live_.end() && found->second.active_side != from)
    return found->second.connection;
  return std::nullopt;
}

std::optional<ConnectionIndex> CmTracker::connection_about(const wire::Frame& frame, const wire::CmMessage& message,
                                                           Side from) const {
  for (const bool by_active : {true, false}) {
    const auto waiting = by_active
                             ? waiting_.find({key_from_active(frame, message.local_comm_id), message.remote_comm_id})
                             : waiting_.find({key_from_passive(frame, message.remote_comm_id), message.local_comm_id});
    if (waiting == waiting_.end()) continue;
    const Pending& pending = pending_.at({waiting->first.exchange, waiting->second});
    if ((pending.active_side == from) == by_active) return pending.connection;
  }
  return find_live(frame, message, from);
}

std::span<const std::uint8_t> CmTracker::request_of(const wire::Frame& frame, const wire::CmMessage& reply) const {
  const auto found = pending_.find({key_from_passive(frame, reply.remote_comm_id), reply.transaction_id});
  if (found == pending_.end()) return {};
  return found->second.request;
}

void CmTracker::bind(ConnectionIndex connection, bool wants_word) {
  if (!unsettled_) return;
  if (const auto found = pending_.find(*unsettled_); found != pending_.end()) {
    Pending& pending = found->second;
    pending.connection.reset();  // so that add_live() does not forget it
    add_live({unsettled_->first, pending.passive_comm_id}, {connection, unsettled_->second, pending.active_side});
    pending.connection = connection;
    if (wants_word) wait(*unsettled_, pending);
  }
  unsettled_.reset();
}

void CmTracker::postpone(std::uint64_t mark, std::optional<ConnectionIndex> connection) {
  if (!unsettled_) return;
  if (const auto found = pending_.find(*unsettled_); found != pending_.end()) {
    Pending& pending = found->second;
    wait(*unsettled_, pending);
    pending.mark = mark;
    pending.connection = connection;
    if (connection) keys_[*connection] = {unsettled_->first, pending.passive_comm_id};
  }
  unsettled_.reset();
}

void CmTracker::leave(std::uint64_t mark) {
  if (!unsettled_) return;
  if (const auto found = pending_.find(*unsettled_); found != pending_.end()) found->second.mark = mark;
  unsettled_.reset();
}

void CmTracker::wait(const PendingKey& key, Pending& pending) {
  const AnsweredKey answered{key.first, pending.passive_comm_id};
  // An exchange of another transaction with the same two IDs is older.
  if (const auto older = waiting_.find(answered); older != waiting_.end()) {
    const PendingKey its{key.first, older->second};
    stop_waiting(its, pending_.at(its));
  }
  waiting_[answered] = key.second;
  pending.waits = true;
}

void CmTracker::stop_waiting(const PendingKey& key, Pending& pending) {
  if (!pending.waits) return;
  pending.waits = false;
  waiting_.erase({key.first, pending.passive_comm_id});
}

void CmTracker::add_live(const AnsweredKey& key, const Live& live) {
  forget(live.connection);
  // When both IDs are used again, they belong to the newer connection.
  if (const auto old = live_.find(key); old != live_.end()) {
    const auto pending = pending_.find({key.exchange, old->second.transaction_id});
    if (pending != pending_.end() && pending->second.connection == old->second.connection) {
      stop_waiting(pending->first, pending->second);
      pending->second.connection.reset();
    }
    keys_.erase(old->second.connection);
  }
  live_[key] = live;
  keys_[live.connection] = key;
}

std::optional<CmExchange> CmTracker::exchange_of(ConnectionIndex connection) const {
  const auto key = keys_.find(connection);
  if (key == keys_.end()) return std::nullopt;
  const auto live = live_.find(key->second);
  if (live == live_.end() || live->second.connection != connection) return std::nullopt;
  return CmExchange{live->second.active_side, key->second.exchange.active_comm_id, key->second.passive_comm_id};
}

void CmTracker::restore(ConnectionIndex connection, const ConnectionInfo& info, const CmExchange& exchange) {
  const ExchangeKey key{info.vlan.value, info.end(exchange.active_side).ip.bytes,
                        info.end(other(exchange.active_side)).ip.bytes, exchange.active_comm_id};
  // Only a REJ during set-up would name the transaction, and set-up is over.
  add_live({key, exchange.passive_comm_id}, {connection, 0, exchange.active_side});
}

void CmTracker::forget(ConnectionIndex connection) {
  const auto found = keys_.find(connection);
  if (found == keys_.end()) return;
  const AnsweredKey key = found->second;
  keys_.erase(found);
  const auto end_exchange = [&](std::uint64_t transaction_id) {
    const auto pending = pending_.find({key.exchange, transaction_id});
    if (pending != pending_.end() && pending->second.connection == connection) erase_pending(*pending);
  };
  if (const auto live = live_.find(key); live != live_.end() && live->second.connection == connection) {
    end_exchange(live->second.transaction_id);
    live_.erase(live);
  }
  if (const auto waiting = waiting_.find(key); waiting != waiting_.end()) end_exchange(waiting->second);
}

void CmTracker::erase_pending(PendingEntry& entry) {
  const PendingKey key = entry.first;
  Pending& pending = entry.second;
  stop_waiting(key, pending);
  by_age_.erase(pending.age);
  pending.own->erase(pending.among_own);
  if (pending.own->empty()) by_hosts_.erase(hosts_of(key.first));
  pending_.erase(key);
}

}  // namespace longhaul::flow
