// SPDX-License-Identifier: BSD-3-Clause
// One worker's part in spreading frames over all: what it receives and is another's it hands over, what others received
// and is its own it takes. Each frame of a flow takes the same way, through first-in first-out rings, so none overtakes
// another.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "steer/hand_over.hpp"
#include "steer/steering.hpp"

namespace longhaul::steer {

/// Frames that others handed over, for the engine, in this order.
struct Received {
  static constexpr std::size_t kBurst = 32;
  struct Shown {
    Side side;
    rte_mbuf* frame;
  };
  struct Burst {
    std::array<rte_mbuf*, kBurst> frames;
    std::uint16_t count = 0;
    void add(rte_mbuf* frame) { frames[count++] = frame; }
  };
  std::array<Shown, kBurst> shown;  ///< each is one received frame that must not leave (is_shown())
  std::uint16_t shown_count = 0;
  Burst bursts[2];  ///< by side
};

class Spreader {
 public:
  /// A burst from a port must not be larger.
  static constexpr std::uint16_t kBurst = Received::kBurst;

  /// `rings` and `shown` (a make_shown_pool()) must outlive it.
  Spreader(const SteeringSettings& settings, HandOverRings& rings, rte_mempool* shown);
  Spreader(const Spreader&) = delete;
  Spreader& operator=(const Spreader&) = delete;

  /// A port's burst: hands over what is another's and drops, by name, what finds no room. Leaves this worker's own in
  /// front, in order, and returns how many.
  std::uint16_t keep(Side side, rte_mbuf** frames, std::uint16_t count, Time now);

  /// The next burst that `from` handed over, into `out` what of it is for the engine here. Returns how many frames it
  /// had: kBurst means that there may be more.
  std::uint16_t take(Worker from, Received& out, Time now);

  /// `frame` was shown to the engine only: whoever is to send it frees it instead.
  bool is_shown(const rte_mbuf* frame) const;

  /// Whether the engine here may learn a connection between the hosts of `info` from its traffic: not one that is only
  /// given some of that, by connections whose REQs may be forged.
  bool sees_whole(const flow::ConnectionInfo& info, Time now) const;

  Worker self() const { return self_; }
  unsigned workers() const { return rings_.workers(); }
  Steering& steering() { return steering_; }
  const Counters& counters() const { return counters_; }

 private:
  struct Stage {
    std::array<HandedFrame, 2 * kBurst> frames;
    std::uint32_t count = 0;
  };
  /// At its home: true when the frame is this worker's own, otherwise it is on its way, or dropped by name.
  bool settle(Side side, rte_mbuf* mbuf, const wire::Frame& frame, Time now);
  void stage(Worker to, HandedFrame frame);
  /// False when there is no buffer.
  bool show(Worker to, Side side, std::span<const std::uint8_t> request);
  void flush();
  void flush(Worker to);

  Worker self_;
  HandOverRings& rings_;
  rte_mempool* shown_;
  Counters counters_;
  Steering steering_;
  std::vector<Stage> stages_;      ///< by worker
  std::vector<Worker> staged_to_;  ///< whose stage is not empty
};

}  // namespace longhaul::steer
