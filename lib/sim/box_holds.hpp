// SPDX-License-Identifier: BSD-3-Clause
// What a box holds, as rule 9 asks: does an attack leave something full behind, and does it hold up a drain?
#pragma once

#include "sim/box.hpp"
#include "sim/result.hpp"

namespace longhaul::sim {

/// Of all workers. The box must run.
BoxHolds holdings_of(const Box& box);

/// Custody has packets of a flow of which nothing was acknowledged to its requester. The box must run.
bool holds_unpromised(const Box& box, Time now);

}  // namespace longhaul::sim
