// SPDX-License-Identifier: BSD-3-Clause
#include "flow/cm_tracker.hpp"

#include <utility>

#include "wire/psn.hpp"

namespace longhaul::flow {

namespace {

/// 4.096 us * 2^code (IBTA vol. 1, 9.9.2.1.1 and 12.7.34); code 0 means no timeout.
Duration ack_timeout_of(std::uint8_t code) { return code == 0 ? 0 : (std::uint64_t{4096} << code); }

}  // namespace

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
      return {};
    case CmAttribute::dreq:
    case CmAttribute::drep: {
      CmOutcome outcome;
      outcome.connection = find_live(frame, message, from);
      if (!outcome.connection)
        outcome.event = CmEvent::unmatched;
      else
        outcome.event = message.attribute == CmAttribute::dreq ? CmEvent::disconnect_requested : CmEvent::disconnected;
      return outcome;
    }
  }
  return {};
}

CmOutcome CmTracker::on_request(const wire::Frame& frame, const wire::CmMessage& message, Side from, Time now) {
  CmOutcome outcome;
  if (!message.reliable_connected) return outcome;
  const PendingKey key{key_from_active(frame, message.local_comm_id), message.transaction_id};
  if (pending_.contains(key)) return outcome;  // a repeat

  while (!by_age_.empty()) {
    const auto oldest = pending_.find(by_age_.front());
    const bool expired = now - oldest->second.since > kPendingLife;
    const bool full = pending_.size() >= max_pending_;
    if (!expired && !full) break;
    if (!expired && !oldest->second.answered) outcome.event = CmEvent::table_full;
    erase_pending(oldest);
  }

  Pending pending;
  pending.active_side = from;
  pending.since = now;
  pending.info.vlan = frame.vlan;
  pending.info.path_mtu = wire::path_mtu_bytes(message.path_mtu);
  pending.info.retry_count = message.retry_count;
  pending.info.ack_timeout = ack_timeout_of(message.local_ack_timeout);
  End& active = pending.info.end(from);
  End& passive = pending.info.end(other(from));
  active.ip = frame.source;
  active.qpn = message.local_qpn;
  passive.ip = frame.destination;
  // The Starting PSN of a message is what its *receiver* sends with (verified on captures of real stacks).
  passive.starting_psn = message.starting_psn & wire::kPsnMask;
  if (keep_requests_) pending.request.assign(frame.data, frame.data + frame.roce_size());
  pending.age = by_age_.insert(by_age_.end(), key);
  pending_.emplace(key, std::move(pending));
  return outcome;
}

CmOutcome CmTracker::on_reply(const wire::Frame& frame, const wire::CmMessage& message, Side from) {
  CmOutcome outcome;
  const ExchangeKey exchange = key_from_passive(frame, message.remote_comm_id);
  const auto found = pending_.find({exchange, message.transaction_id});
  if (found == pending_.end() || found->second.active_side == from) {
    outcome.event = CmEvent::unmatched;
    return outcome;
  }
  Pending& pending = found->second;
  if (pending.answered) return outcome;  // a repeat
  pending.answered = true;
  pending.info.end(from).qpn = message.local_qpn;
  pending.info.end(other(from)).starting_psn = message.starting_psn & wire::kPsnMask;
  outcome.event = CmEvent::learned;
  outcome.info = pending.info;
  to_bind_ = {exchange, message.local_comm_id, message.transaction_id, pending.active_side};
  return outcome;
}

CmOutcome CmTracker::on_reject(const wire::Frame& frame, const wire::CmMessage& message, Side from) {
  CmOutcome outcome;
  // From the passive end it answers the REQ, from the active end the REP; the transaction ID is the REQ's.
  const auto by_passive = pending_.find({key_from_passive(frame, message.remote_comm_id), message.transaction_id});
  if (by_passive != pending_.end() && by_passive->second.active_side != from && !by_passive->second.answered) {
    erase_pending(by_passive);
    return outcome;
  }
  const auto by_active = pending_.find({key_from_active(frame, message.local_comm_id), message.transaction_id});
  if (by_active != pending_.end() && by_active->second.active_side == from && by_active->second.answered) {
    // Another exchange may have used the communication ID since, or this one got no place: not theirs to end.
    const auto live = live_.find(by_active->first.first);
    if (live != live_.end() && live->second.active_side == from &&
        live->second.transaction_id == message.transaction_id &&
        live->second.passive_comm_id == message.remote_comm_id) {
      outcome.event = CmEvent::rejected;
      outcome.connection = live->second.connection;
    }
    erase_pending(by_active);
    return outcome;
  }
  outcome.event = CmEvent::unmatched;
  return outcome;
}

// Both communication IDs must be those of the exchange, one alone is easily guessed; and the message must come from
// where its sender is.
std::optional<ConnectionIndex> CmTracker::find_live(const wire::Frame& frame, const wire::CmMessage& message,
                                                    Side from) const {
  if (const auto found = live_.find(key_from_active(frame, message.local_comm_id));
      found != live_.end() && found->second.passive_comm_id == message.remote_comm_id &&
      found->second.active_side == from)
    return found->second.connection;
  if (const auto found = live_.find(key_from_passive(frame, message.remote_comm_id));
      found != live_.end() && found->second.passive_comm_id == message.local_comm_id &&
      found->second.active_side != from)
    return found->second.connection;
  return std::nullopt;
}

std::span<const std::uint8_t> CmTracker::request_of(const wire::Frame& frame, const wire::CmMessage& reply) const {
  const auto found = pending_.find({key_from_passive(frame, reply.remote_comm_id), reply.transaction_id});
  if (found == pending_.end()) return {};
  return found->second.request;
}

void CmTracker::bind(ConnectionIndex connection) {
  if (!to_bind_) return;
  const auto& [key, passive_comm_id, transaction_id, active_side] = *to_bind_;
  add_live(key, {connection, passive_comm_id, transaction_id, active_side});
  to_bind_.reset();
}

void CmTracker::add_live(const ExchangeKey& key, const Live& live) {
  forget(live.connection);
  // A communication ID used again belongs to the newer connection.
  if (const auto old = live_.find(key); old != live_.end()) keys_.erase(old->second.connection);
  live_[key] = live;
  keys_[live.connection] = key;
}

std::optional<CmExchange> CmTracker::exchange_of(ConnectionIndex connection) const {
  const auto found = keys_.find(connection);
  if (found == keys_.end()) return std::nullopt;
  const Live& live = live_.at(found->second);
  return CmExchange{live.active_side, found->second.active_comm_id, live.passive_comm_id};
}

void CmTracker::restore(ConnectionIndex connection, const ConnectionInfo& info, const CmExchange& exchange) {
  const ExchangeKey key{info.vlan.value, info.end(exchange.active_side).ip.bytes,
                        info.end(other(exchange.active_side)).ip.bytes, exchange.active_comm_id};
  // Nothing but a REJ of its set-up would name the transaction, and that is over.
  add_live(key, {connection, exchange.passive_comm_id, 0, exchange.active_side});
}

void CmTracker::forget(ConnectionIndex connection) {
  const auto found = keys_.find(connection);
  if (found == keys_.end()) return;
  live_.erase(found->second);
  keys_.erase(found);
}

void CmTracker::erase_pending(std::map<PendingKey, Pending>::iterator position) {
  by_age_.erase(position->second.age);
  pending_.erase(position);
}

}  // namespace longhaul::flow
