// SPDX-License-Identifier: BSD-3-Clause
// The lane does what the general path does: one world with it and one without are the same, frame for frame.
#pragma once

#include <string>

#include "engine/pools.hpp"
#include "sim/case.hpp"

namespace longhaul::sim {

/// Runs the world of `c` twice, with the lane and without. Returns what differs first: a frame at some place, its time,
/// a counter other than the lane's own, or the outcome; empty when nothing does. `lane_frames` grows by the frames that
/// took the lane.
std::string differs_without_lane(const Case& c, const engine::Pools& pools, std::uint64_t& lane_frames);

}  // namespace longhaul::sim
