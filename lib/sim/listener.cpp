// SPDX-License-Identifier: BSD-3-Clause
#include "sim/listener.hpp"

#include <algorithm>

namespace longhaul::sim {

bool Listener::receive(const wire::CmMessage& message, Time now) {
  const bool req = message.attribute == wire::CmAttribute::req;
  if (req && message.service_id != kListeningService) return false;
  for (CmAgent& exchange : exchanges_) {
    if (exchange.remote_id() != message.local_comm_id) continue;
    if (!req && exchange.plan().comm_id != message.remote_comm_id) continue;
    exchange.receive(message, now);
    return true;
  }
  if (!req) return false;
  exchanges_.emplace_back(plan_, frame_, outlet_);
  ++plan_.qpn;
  ++plan_.comm_id;
  exchanges_.back().receive(message, now);
  return true;
}

Time Listener::next_deadline() const {
  Time next = kNever;
  for (const CmAgent& exchange : exchanges_) next = std::min(next, exchange.next_deadline());
  return next;
}

void Listener::poll(Time now) {
  for (CmAgent& exchange : exchanges_)
    if (exchange.next_deadline() <= now) exchange.poll(now);
  std::erase_if(exchanges_, [](const CmAgent& exchange) { return exchange.state() == CmAgent::State::refused; });
}

}  // namespace longhaul::sim
