// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "custody/restart_record.hpp"
#include "steer/steering.hpp"

namespace longhaul::steer {

/// Makes `owner`, the worker that has this `part` of the restart record, the owner of the connections in it that an
/// earlier process left owing. `steerings`: those of all workers. Call it before the engine of `owner` gets its part:
/// the engine changes it.
void remember_owners(std::span<const custody::RecordSlot> part, Worker owner, std::span<Steering* const> steerings,
                     Time now);

}  // namespace longhaul::steer
