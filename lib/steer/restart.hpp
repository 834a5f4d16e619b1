// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "custody/restart_record.hpp"
#include "steer/steering.hpp"

namespace longhaul::steer {

/// The connections of an earlier process that owe something, in the part of the restart record that is `owner`'s: their
/// frames will find it. `steerings`: all workers'. Call it before the engine of `owner` gets its part, which it
/// changes.
void remember_owners(std::span<const custody::RecordSlot> part, Worker owner, std::span<Steering* const> steerings,
                     Time now);

}  // namespace longhaul::steer
