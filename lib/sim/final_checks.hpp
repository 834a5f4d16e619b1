// SPDX-License-Identifier: BSD-3-Clause
// The judge's checks of a whole world: after each event, whether boxes keep their limits; at its end, whether
// everything that had to end well did.
#pragma once

#include <vector>

#include "sim/applications.hpp"
#include "sim/operators.hpp"
#include "sim/result.hpp"
#include "sim/scene.hpp"
#include "sim/topology.hpp"

namespace longhaul::sim {

/// After each event: no box holds more than it may.
void check_limits(Scene& scene, const Topology& topology, const Applications& applications);
/// At the end of the world.
void check_end(Scene& scene, const Topology& topology, const Applications& applications, const Operators& operators);
/// In its place, when a world does not end.
void report_no_end(Scene& scene, const Topology& topology, const Applications& applications);

std::vector<Delivery> deliveries(const Scene& scene, const Applications& applications);

}  // namespace longhaul::sim
