// SPDX-License-Identifier: BSD-3-Clause
// The lane does what the general path does: one world with it and one without are the same, frame for frame.
#pragma once

#include <cstdint>
#include <string>

#include "engine/pools.hpp"
#include "sim/case.hpp"
#include "sim/result.hpp"

namespace longhaul::sim {

struct LaneTwins {
  Result with;  ///< the outcome with the lane
  /// What differs first without it: a frame at some place, its time, a counter other than the lane's own, or the
  /// outcome; empty when nothing does.
  std::string difference;
  std::uint64_t lane_frames = 0;  ///< that took the lane
};

/// Runs the world of `c` twice, with the lane and without.
LaneTwins run_lane_twins(const Case& c, const engine::Pools& pools);

}  // namespace longhaul::sim
