// SPDX-License-Identifier: BSD-3-Clause
#include "sim/box.hpp"

#include <algorithm>

namespace longhaul::sim {

namespace {
constexpr Duration kPollGap = microseconds(1);
}  // namespace

Box::Box(unsigned number, const engine::Settings& settings, const engine::Pools& pools, std::uint32_t port_full,
         bool record, std::uint64_t seed, BoxWatch& watch, custody::Observer& observer, Send send)
    : number_(number),
      settings_(settings),
      pools_(pools),
      port_full_(port_full),
      random_(seed, number, 7),
      watch_(watch),
      observer_(observer),
      send_(std::move(send)) {
  if (record) record_ = std::make_unique<custody::RecordSlot[]>(settings.max_connections);
}

void Box::start(Time now) {
  engine_ = std::make_unique<engine::Engine>(settings_, pools_, *this, &observer_);
  if (record_) engine_->use_record({record_.get(), settings_.max_connections}, now);
}

void Box::receive(Side side, std::span<rte_mbuf* const> frames, Time now) {
  now_ = now;
  for (const rte_mbuf* frame : frames) watch_.on_in(number_, side, frame, now);
  engine_->receive(side, frames, now);
}

void Box::poll(Time now) {
  now_ = now;
  engine_->poll(now);
  not_before_ = now + kPollGap;
}

Time Box::next_deadline() const {
  if (!engine_) return kNever;
  const Time deadline = engine_->next_deadline();
  return deadline == kNever ? kNever : std::max(deadline, not_before_);
}

std::uint16_t Box::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  // Room comes as the NIC sends: each look may find another amount.
  const bool full = port_full_ != 0 && random_.chance(port_full_, 10000);
  const auto accepted = static_cast<std::uint16_t>(full ? std::min<std::uint64_t>(random_.below(3), count) : count);
  for (std::uint16_t i = 0; i < accepted; ++i) {
    watch_.on_out(number_, out, frames[i], now_);
    send_(out, frames[i]);
  }
  return accepted;
}

}  // namespace longhaul::sim
