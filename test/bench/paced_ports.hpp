// SPDX-License-Identifier: BSD-3-Clause
// A device's two ports, with frames that arrive when they are due. They note the times at which the device sent its
// frames.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/side.hpp"
#include "drivers/port.hpp"
#include "test/bench/ring_ports.hpp"

namespace longhaul::bench {

/// Times are TSC cycles. One thread hands out chunks, another runs the device's loop over the two ports.
class PacedPorts {
 public:
  /// `longest`: how many frames either port may send in a chunk. The ports beneath must outlive it.
  PacedPorts(PortPair beneath, std::size_t longest);
  PacedPorts(const PacedPorts&) = delete;
  PacedPorts& operator=(const PacedPorts&) = delete;

  PortPair pair() { return {ports_[Side::host], ports_[Side::wan]}; }

  // ---- for the thread that hands out chunks, while the device has nothing to do

  /// Frame i of the next chunk on a side arrives at due[side][i] (ascending). If empty, all frames arrive at once.
  /// Returns when the device's loop, which must run, has seen it.
  void schedule(BySide<std::vector<std::uint64_t>> due);
  /// When the loop saw the last one.
  std::uint64_t seen_at() const { return seen_at_; }
  /// When the port accepted each frame that was sent since the last schedule().
  std::span<const std::uint64_t> sent(Side side) const;

  /// Turns in which the loop stood still although it had almost nothing to do.
  struct Pauses {
    std::uint64_t count = 0;
    std::uint64_t longest = 0;
  };
  /// Since the last schedule(), while frames were still to come: turns of the loop that took more than `allowed` cycles
  /// plus `per_frame` for each frame that the turn before had received.
  Pauses pauses() const { return pauses_; }
  void set_pause(std::uint64_t allowed, std::uint64_t per_frame) {
    pause_ = allowed;
    pause_per_frame_ = per_frame;
  }

 private:
  class PacedPort final : public drivers::Port {
   public:
    PacedPort(PacedPorts& all, Side side, drivers::Port& beneath, std::size_t longest)
        : all_(all), side_(side), beneath_(beneath), sent_(longest) {}
    std::uint16_t receive(rte_mbuf** frames, std::uint16_t count) override;
    std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) override;
    std::string describe() const override { return beneath_.describe(); }

    std::size_t given_ = 0;  ///< frames received of this chunk
    std::size_t sent_count_ = 0;
    PacedPorts& all_;
    const Side side_;
    drivers::Port& beneath_;
    std::vector<std::uint64_t> sent_;
  };

  void look_up();
  void watch(std::uint64_t now);

  static constexpr std::size_t kCacheLine = 64;

  /// Two, so that the device never looks at the one that is being written.
  BySide<std::vector<std::uint64_t>> due_[2];
  std::uint64_t pause_ = UINT64_MAX / 2;
  std::uint64_t pause_per_frame_ = 0;
  std::atomic<std::uint64_t> chunk_{0};

  alignas(kCacheLine) std::atomic<std::uint64_t> known_{0};  ///< seen_, for the other thread
  std::uint64_t seen_ = 0;                                   ///< chunk_ as the device knows it
  std::uint64_t seen_at_ = 0;
  std::uint64_t turn_began_ = 0;  ///< 0: no turn is judged
  std::uint64_t turn_frames_ = 0;
  Pauses pauses_;
  BySide<PacedPort> ports_;
};

}  // namespace longhaul::bench
