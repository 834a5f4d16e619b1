// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/paced_ports.hpp"

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>
#include <thread>

#include "test/bench/looks_per_yield.hpp"

namespace longhaul::bench {

PacedPorts::PacedPorts(PortPair beneath, std::size_t longest)
    : ports_{{{*this, Side::host, beneath.host, longest}, {*this, Side::wan, beneath.wan, longest}}} {}

void PacedPorts::schedule(BySide<std::vector<std::uint64_t>> due) {
  const std::uint64_t next = chunk_.load(std::memory_order_relaxed) + 1;
  due_[next % 2] = std::move(due);
  chunk_.store(next, std::memory_order_release);
  for (unsigned looks = 1; known_.load(std::memory_order_acquire) != next; ++looks) {
    rte_pause();
    if (looks % kLooksPerYield == 0) std::this_thread::yield();
  }
}

std::span<const std::uint64_t> PacedPorts::sent(Side side) const {
  const PacedPort& port = ports_[side];
  return {port.sent_.data(), port.sent_count_};
}

void PacedPorts::look_up() {
  const std::uint64_t chunk = chunk_.load(std::memory_order_acquire);
  if (chunk == seen_) return;
  seen_ = chunk;
  seen_at_ = rte_rdtsc();
  known_.store(chunk, std::memory_order_release);
  for (PacedPort& port : ports_) port.given_ = port.sent_count_ = 0;
  pauses_ = {};  // a turn that began before counts for the new chunk, whose begin it may have missed
}

// A turn is from one look at the host port to the next.
void PacedPorts::watch(std::uint64_t now) {
  if (turn_began_ != 0) {
    const std::uint64_t took = now - turn_began_;
    if (took > pause_ + turn_frames_ * pause_per_frame_) {
      ++pauses_.count;
      pauses_.longest = std::max(pauses_.longest, took);
    }
  }
  turn_began_ = now;
  turn_frames_ = 0;
}

std::uint16_t PacedPorts::PacedPort::receive(rte_mbuf** frames, std::uint16_t count) {
  all_.look_up();
  const auto& due = all_.due_[all_.seen_ % 2][side_];
  if (due.empty()) {
    all_.turn_began_ = 0;
    return beneath_.receive(frames, count);
  }
  const std::uint64_t now = rte_rdtsc();
  if (side_ == Side::host) {
    all_.watch(now);
    if (given_ == due.size()) all_.turn_began_ = 0;
  }
  std::uint16_t ready = 0;
  while (ready < count && given_ + ready < due.size() && due[given_ + ready] <= now) ++ready;
  if (ready == 0) return 0;
  const std::uint16_t received = beneath_.receive(frames, ready);
  given_ += received;
  all_.turn_frames_ += received;
  return received;
}

std::uint16_t PacedPorts::PacedPort::transmit(rte_mbuf** frames, std::uint16_t count) {
  all_.look_up();
  const std::uint16_t accepted = beneath_.transmit(frames, count);
  const std::uint64_t now = rte_rdtsc();
  for (std::uint16_t i = 0; i < accepted && sent_count_ < sent_.size(); ++i) sent_[sent_count_++] = now;
  return accepted;
}

}  // namespace longhaul::bench
