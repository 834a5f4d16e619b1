// SPDX-License-Identifier: BSD-3-Clause
#include "sim/box.hpp"

#include <algorithm>
#include <limits>

namespace longhaul::sim {

namespace {
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr Duration kPollGap = microseconds(1);
}  // namespace

Box::Box(unsigned number, const engine::Settings& settings, const engine::Pools& pools, std::uint32_t port_full,
         std::uint64_t seed, BoxWatch& watch, custody::Observer& observer, Send send)
    : number_(number),
      settings_(settings),
      pools_(pools),
      port_full_(port_full),
      random_(seed, number, 7),
      watch_(watch),
      observer_(observer),
      send_(std::move(send)),
      room_{kUnlimited, kUnlimited} {}

void Box::start() { engine_ = std::make_unique<engine::Engine>(settings_, pools_, *this, &observer_); }

void Box::look_at_ports() {
  if (port_full_ == 0) return;
  for (std::uint64_t& room : room_) room = random_.chance(port_full_, 10000) ? random_.below(3) : kUnlimited;
}

void Box::receive(Side side, std::span<rte_mbuf* const> frames, Time now) {
  now_ = now;
  look_at_ports();
  for (const rte_mbuf* frame : frames) watch_.on_in(number_, side, frame, now);
  engine_->receive(side, frames, now);
}

void Box::poll(Time now) {
  now_ = now;
  look_at_ports();
  engine_->poll(now);
  not_before_ = now + kPollGap;
}

Time Box::next_deadline() const {
  if (!engine_) return kNever;
  const Time deadline = engine_->next_deadline();
  return deadline == kNever ? kNever : std::max(deadline, not_before_);
}

std::uint16_t Box::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  std::uint64_t& room = room_[static_cast<std::size_t>(out)];
  const auto accepted = static_cast<std::uint16_t>(std::min<std::uint64_t>(room, count));
  if (room != kUnlimited) room -= accepted;
  for (std::uint16_t i = 0; i < accepted; ++i) {
    watch_.on_out(number_, out, frames[i], now_);
    send_(out, frames[i]);
  }
  return accepted;
}

}  // namespace longhaul::sim
