// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark measures: one engine in one thread, in virtual time, between two ports that take everything.
#pragma once

#include <cstdint>
#include <vector>

#include "drivers/eal.hpp"
#include "engine/engine.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"

struct rte_mbuf;

namespace longhaul::bench {

/// DPDK in ordinary memory, and the pools of a box with its defaults.
class Memory {
 public:
  /// Throws std::runtime_error when the memory is not there.
  explicit Memory(const std::string& program);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const engine::Pools& pools() const { return pools_; }

 private:
  drivers::Eal eal_;
  engine::Pools pools_;
};

/// What a box's loop finds at its two ports, turn by turn: at most kBurst frames at each.
class Turns {
 public:
  static constexpr std::size_t kBurst = 32;

  struct Turn {
    std::vector<rte_mbuf*> bursts[2];  ///< by Side
  };

  /// Behind what was added on `side` before; the two sides fill their bursts independently.
  void add(Side side, rte_mbuf* frame);

  const std::vector<Turn>& all() const { return turns_; }

 private:
  std::vector<Turn> turns_;
  std::size_t next_[2] = {0, 0};  // the turn that the next frame goes into
};

class Bed final : public engine::Sink {
 public:
  Bed(const engine::Settings& settings, const engine::Pools& pools) : engine_(settings, pools, *this) {}
  ~Bed() override;
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  /// The box's loop, turn by turn, each 4 us after the one before. Under callgrind only this is collected, and of it
  /// not the ports.
  void run(const Turns& turns);

  /// Virtual time passes and nothing happens.
  void wait(Duration duration) { now_ += duration; }

  /// Frames that have left on `out`, in order. The caller owns them now.
  std::vector<rte_mbuf*> take(Side out);

  const engine::Engine& engine() const { return engine_; }
  std::uint64_t count(Counter counter) const { return engine_.counters()[counter]; }

 private:
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;

  Time now_ = seconds(1000);
  std::vector<rte_mbuf*> sent_[2];
  engine::Engine engine_;
};

}  // namespace longhaul::bench
