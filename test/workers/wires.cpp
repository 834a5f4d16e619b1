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
      ends_[static_cast<std::size_t>(side)].push_back(std::move(end));
      ports_[static_cast<std::size_t>(side)].push_back(std::move(port));
    }
}

bool Wires::put(Side side, unsigned worker, rte_mbuf* frame) {
  return ends_[static_cast<std::size_t>(side)][worker]->transmit(&frame, 1) == 1;
}

rte_mbuf* Wires::take(Side side) {
  const auto s = static_cast<std::size_t>(side);
  for (unsigned i = 0; i < workers(); ++i) {
    turn_[s] = (turn_[s] + 1) % workers();
    rte_mbuf* frame = nullptr;
    if (ends_[s][turn_[s]]->receive(&frame, 1) == 1) return frame;
  }
  return nullptr;
}

}  // namespace longhaul::test
