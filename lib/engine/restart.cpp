// SPDX-License-Identifier: BSD-3-Clause
// The restart record (design section 6): what the flows of this process owe is written down, and flows that an earlier
// process left owing come back as failed.
#include <stdexcept>
#include <string>

#include "engine/engine_impl.hpp"

namespace longhaul::engine {

using custody::RecordSlot;

void Engine::Impl::use_record(std::span<RecordSlot> slots, Time time) {
  if (slots.size() < table.capacity())
    throw std::invalid_argument("a restart record of " + std::to_string(slots.size()) + " slots for " +
                                std::to_string(table.capacity()) + " connections");
  now = time;
  record = slots;
  for (flow::ConnectionIndex index = 0; index < table.capacity(); ++index) {
    RecordSlot& slot = record[index];
    switch (slot.state()) {
      case RecordSlot::State::empty:
        break;
      case RecordSlot::State::settled:
        slot.clear();
        break;
      case RecordSlot::State::owing:
        restore(index);
        break;
      case RecordSlot::State::damaged:
        damaged(index);
        break;
    }
  }
}

// The requester was told success, and the data is gone with the process that held it. The requester's next request gets
// the fatal NAK. The slot keeps its content until the connection is closed.
void Engine::Impl::restore(flow::ConnectionIndex index) {
  RecordSlot& slot = record[index];
  const flow::ConnectionInfo info = slot.connection().info();
  if (!table.insert_at(index, info)) {
    damaged(index);  // no box gives one connection two slots
    return;
  }
  if (const auto exchange = slot.connection().exchange()) tracker.restore(index, info, *exchange);
  const std::uint64_t bytes = slot.owed_bytes();
  Connection& connection = connections[index];
  connection.last_seen = now;
  custody::NearFlow& flow = connection.near;
  flow.identity = identity_of(info);
  flow.connection = index;
  connection.pair = next_hops.acquire(info.end(Side::host).ip, info.end(Side::wan).ip, info.vlan);
  flow.holding = &near.holding(connection.pair);
  flow.policy = flow::Policy::full;  // frames of a failed flow are always verified, whatever the policy is today
  flow.next_policy = settings.policies.lookup(flow.identity.requester, flow.identity.responder);
  flow.path_mtu = info.path_mtu;
  flow.record = &slot;
  near.begin_failed(flow, slot.promised(), bytes);
  ++counters[Counter::flows_failed_by_restart];
  counters[Counter::failed_by_restart_bytes] += bytes;
  if (observer != nullptr) observer->on_found_in_record(flow.identity, bytes);
}

void Engine::Impl::damaged(flow::ConnectionIndex index) {
  ++counters[Counter::record_slots_damaged];
  record[index].clear();
}

void Engine::Impl::record_connection(flow::ConnectionIndex index) {
  if (record.empty()) return;
  record[index].open(custody::RecordedConnection::of(table[index], tracker.exchange_of(index)));
  connections[index].near.record = &record[index];
}

}  // namespace longhaul::engine
