// SPDX-License-Identifier: BSD-3-Clause
// A box: the real engine between two segments. It can be away (a crash, a late start): then frames are lost, or pass it
// by.
#pragma once

#include <functional>
#include <memory>

#include "engine/engine.hpp"
#include "sim/random.hpp"

namespace longhaul::sim {

/// Sees each frame at a box's ports: what it takes in, what a port accepts of it.
class BoxWatch {
 public:
  virtual ~BoxWatch() = default;
  virtual void on_in(unsigned box, Side side, const rte_mbuf* frame, Time now) = 0;
  virtual void on_out(unsigned box, Side side, const rte_mbuf* frame, Time now) = 0;
};

class Box final : public engine::Sink {
 public:
  /// Takes over the frame.
  using Send = std::function<void(Side out, rte_mbuf* frame)>;
  /// `port_full`: of 10,000 looks at a port so many find it nearly full. `record`: it keeps a restart record.
  Box(unsigned number, const engine::Settings& settings, const engine::Pools& pools, std::uint32_t port_full,
      bool record, std::uint64_t seed, BoxWatch& watch, custody::Observer& observer, Send send);

  bool running() const { return engine_ != nullptr; }
  void start(Time now);
  void crash() { engine_.reset(); }

  void receive(Side side, std::span<rte_mbuf* const> frames, Time now);
  void poll(Time now);
  Time next_deadline() const;
  engine::Engine* engine() { return engine_.get(); }
  const engine::Engine* engine() const { return engine_.get(); }

 private:
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;

  unsigned number_;
  engine::Settings settings_;
  engine::Pools pools_;
  std::uint32_t port_full_;
  Random random_;
  BoxWatch& watch_;
  custody::Observer& observer_;
  Send send_;
  std::unique_ptr<custody::RecordSlot[]> record_;  ///< survives a crash
  std::unique_ptr<engine::Engine> engine_;
  Time now_ = 0;
  Time not_before_ = 0;  ///< no poll earlier: a deadline that stands still must not hold up time
};

}  // namespace longhaul::sim
