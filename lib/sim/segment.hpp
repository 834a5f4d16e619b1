// SPDX-License-Identifier: BSD-3-Clause
// One of the three segments between hosts and boxes: the link's two directions, with bursts of losses and outages,
// which the link itself does not model.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "link/direction.hpp"
#include "sim/random.hpp"

namespace longhaul::sim {

struct BurstPlan {
  std::uint32_t start = 0;   ///< of 10,000 frames, this many begin a burst of losses
  std::uint32_t frames = 0;  ///< lost in a burst, at most; none later than 10 ms after the first
};

struct Outage {
  Time from = kNever;
  Time until = 0;
};

class Segment {
 public:
  Segment(const link::Settings& settings, const std::array<BurstPlan, 2>& bursts, const Outage& outage,
          std::uint64_t number);

  /// The segment owns the frame.
  void offer(link::Way way, rte_mbuf* frame, Time now);
  /// As link::Direction::collect().
  std::size_t collect(link::Way way, rte_mbuf** out, std::size_t count, Time now) {
    return of(way).collect(out, count, now);
  }
  Time next_deadline(link::Way way) const { return ways_[static_cast<std::size_t>(way)]->next_deadline(); }
  std::size_t held() const { return ways_[0]->held() + ways_[1]->held(); }
  const link::Counters& counters(link::Way way) const { return ways_[static_cast<std::size_t>(way)]->counters(); }
  std::uint64_t burst_lost() const { return burst_lost_; }
  std::uint64_t outage_lost() const { return outage_lost_; }

 private:
  link::Direction& of(link::Way way) { return *ways_[static_cast<std::size_t>(way)]; }

  std::array<std::unique_ptr<link::Direction>, 2> ways_;
  std::array<BurstPlan, 2> bursts_;
  std::array<std::uint64_t, 2> left_{};  ///< frames still to be lost
  std::array<Time, 2> burst_ends_{};
  Outage outage_;
  bool by_packet_;
  std::uint64_t seed_;
  std::uint64_t number_;
  Random random_;
  std::array<link::PacketCopies, 2> copies_;
  std::uint64_t burst_lost_ = 0;
  std::uint64_t outage_lost_ = 0;
};

}  // namespace longhaul::sim
