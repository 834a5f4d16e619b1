// SPDX-License-Identifier: BSD-3-Clause
// One worker's part in spreading frames over all workers: it hands over the frames that it receives for others, and
// takes the frames that others received for it. All frames of a flow take the same way, through first-in first-out
// rings, so none overtakes another.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/side.hpp"
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
  std::array<Shown, kBurst> shown;  ///< deliver them one by one; they must not leave (is_shown())
  std::uint16_t shown_count = 0;
  BySide<Burst> bursts;
};

class Spreader {
 public:
  /// A burst from a port must not be larger.
  static constexpr std::uint16_t kBurst = Received::kBurst;

  /// `rings` and `shown` (a make_shown_pool()) must outlive it.
  Spreader(const SteeringSettings& settings, HandOverRings& rings, rte_mempool* shown);
  Spreader(const Spreader&) = delete;
  Spreader& operator=(const Spreader&) = delete;

  /// Takes a port's burst: hands over the frames of other workers, and drops and counts those that find no room. Leaves
  /// this worker's own frames in front, in order, and returns how many.
  std::uint16_t keep(Side side, rte_mbuf** frames, std::uint16_t count, Time now);

  /// Takes the next burst that `from` handed over, and puts the frames for this worker's engine into `out`. Returns how
  /// many frames the burst had: kBurst means that there may be more.
  std::uint16_t take(Worker from, Received& out, Time now);

  /// `frame` was only shown to the engine: a sink frees it instead of sending it.
  bool is_shown(const rte_mbuf* frame) const;

  /// Whether this worker's engine may learn a connection between the hosts of `info` from its traffic. It must not when
  /// connections whose REQs may be forged have led some of the traffic away.
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
  /// Call it at the frame's home. True: the frame is this worker's own. False: it is on its way, or dropped and
  /// counted.
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
  std::vector<Worker> staged_to_;  ///< workers whose stage is not empty
};

}  // namespace longhaul::steer
