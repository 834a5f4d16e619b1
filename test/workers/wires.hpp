// SPDX-License-Identifier: BSD-3-Clause
// The ports of a box with several workers, in memory: a pair of queues for each worker and side.
#pragma once

#include <memory>
#include <vector>

#include "base/side.hpp"
#include "drivers/memory_port.hpp"
#include "steer/pair_hash.hpp"

struct rte_mbuf;

namespace longhaul::test {

class Wires {
 public:
  explicit Wires(unsigned workers);

  unsigned workers() const { return static_cast<unsigned>(ends_[Side::host].size()); }
  /// The port that a worker uses.
  drivers::Port& port(Side side, unsigned worker) { return *ports_[side][worker]; }

  /// Puts a frame into the receive queue of `worker` at `side`. False if the queue is full; then the frame stays the
  /// caller's.
  bool put(Side side, unsigned worker, rte_mbuf* frame);
  /// The next frame that the box has sent out of `side`, or null. The frames of one worker keep their order.
  rte_mbuf* take(Side side);

 private:
  using Ports = std::vector<std::unique_ptr<drivers::MemoryPort>>;
  BySide<Ports> ends_;   ///< the test's ends, by side and worker
  BySide<Ports> ports_;  ///< the box's ends
  BySide<std::size_t> turn_{};
};

}  // namespace longhaul::test
