// SPDX-License-Identifier: BSD-3-Clause
// One engine between two sides of which an attacker may be on both. Frames go in one by one; what comes out is gone.
#pragma once

#include <cstdint>
#include <vector>

#include "base/side.hpp"
#include "box/peer_desk.hpp"
#include "engine/engine.hpp"
#include "test/bench/attacks/table.hpp"

namespace longhaul::bench {

class Stage final : public Target, public engine::Sink {
 public:
  /// Room for `held` packets in custody, connections, candidates and RDMA-CM exchanges, and a little more. The box has
  /// these peers.
  Stage(const engine::Pools& pools, std::uint32_t held, const box::PeerSettings& peers);

  /// Each frame comes `step` after the one before, a microsecond at first.
  void set_step(Duration step) { step_ = step; }
  void send(Side from, const test::Bytes& frame) override;
  /// Lets time pass, and polls as often as the engine asks for it.
  void wait(Duration duration);

  const Counters& counters() const { return engine_.counters(); }
  /// From here on callgrind counts what the engine does.
  void begin_to_count() { counting_ = true; }

 private:
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;

  Time now_ = seconds(1000);
  const engine::Pools& pools_;
  engine::Engine engine_;
  box::PeerDesk desk_;
  Duration step_ = microseconds(1);
  bool counting_ = false;
};

}  // namespace longhaul::bench
