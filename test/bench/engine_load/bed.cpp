// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/engine_load/bed.hpp"

#include <rte_mbuf.h>
#include <valgrind/callgrind.h>

#include <utility>

namespace longhaul::bench {

namespace {

// 32 frames of 1.5 KB take so long at 100 Gbit/s.
constexpr Duration kTurn = microseconds(4);

drivers::EalOptions eal_options(const std::string& program) {
  drivers::EalOptions options;
  options.program = program;
  options.hugepages = false;
  options.memory_bytes = engine::Pools::bytes_needed({}) + (512ull << 20);
  return options;
}

}  // namespace

Memory::Memory(const std::string& program) : eal_(eal_options(program)), pools_(engine::Pools::create({})) {}

Memory::~Memory() { pools_.destroy(); }

Bed::~Bed() {
  for (const auto& frames : sent_)
    for (rte_mbuf* frame : frames) rte_pktmbuf_free(frame);
}

void Turns::add(Side side, rte_mbuf* frame) {
  std::size_t& next = next_[static_cast<int>(side)];
  if (next == turns_.size()) turns_.emplace_back();
  auto& burst = turns_[next].bursts[static_cast<int>(side)];
  burst.push_back(frame);
  if (burst.size() == kBurst) ++next;
}

void Bed::run(const Turns& turns) {
  for (const Turns::Turn& turn : turns.all()) {
    now_ += kTurn;
    CALLGRIND_TOGGLE_COLLECT;
    for (const Side side : {Side::host, Side::wan}) {
      const auto& burst = turn.bursts[static_cast<int>(side)];
      if (burst.empty()) continue;
      engine_.receive(side, burst, now_);
      if (engine_.has_accepted_acks()) engine_.acks_accepted(now_);
    }
    engine_.poll(now_);
    if (engine_.has_accepted_acks()) engine_.acks_accepted(now_);
    CALLGRIND_TOGGLE_COLLECT;
  }
}

std::vector<rte_mbuf*> Bed::take(Side out) { return std::exchange(sent_[static_cast<int>(out)], {}); }

std::uint16_t Bed::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  CALLGRIND_TOGGLE_COLLECT;
  auto& sent = sent_[static_cast<int>(out)];
  sent.insert(sent.end(), frames, frames + count);
  CALLGRIND_TOGGLE_COLLECT;
  return count;
}

}  // namespace longhaul::bench
