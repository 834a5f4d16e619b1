// SPDX-License-Identifier: BSD-3-Clause
// What the judge is asked of a whole world: after each event whether boxes keep their limits, and at its end whether
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
/// When all is over.
void check_end(Scene& scene, const Topology& topology, const Applications& applications, const Operators& operators);
/// Instead, when a world does not end.
void report_no_end(Scene& scene, const Topology& topology, const Applications& applications);

std::vector<Delivery> deliveries(const Scene& scene, const Applications& applications);

}  // namespace longhaul::sim
