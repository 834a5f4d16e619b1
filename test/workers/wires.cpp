// SPDX-License-Identifier: BSD-3-Clause
#include "wires.hpp"

#include <string>

namespace longhaul::test {

namespace {
constexpr std::uint32_t kFrames = 1023;
}

Wires::Wires(unsigned workers) {
  for (const Side side : {Side::host, Side::wan})
    for (unsigned i = 0; i < workers; ++i) {
      auto [end, port] = drivers::MemoryPort::make_wire(std::string(name_of(side)) + std::to_string(i), kFrames);
      ends_[side].push_back(std::move(end));
      ports_[side].push_back(std::move(port));
    }
}

bool Wires::put(Side side, unsigned worker, rte_mbuf* frame) { return ends_[side][worker]->transmit(&frame, 1) == 1; }

rte_mbuf* Wires::take(Side side) {
  for (unsigned i = 0; i < workers(); ++i) {
    turn_[side] = (turn_[side] + 1) % workers();
    rte_mbuf* frame = nullptr;
    if (ends_[side][turn_[side]]->receive(&frame, 1) == 1) return frame;
  }
  return nullptr;
}

}  // namespace longhaul::test
