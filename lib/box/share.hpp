// SPDX-License-Identifier: BSD-3-Clause
// What a box was granted, divided among its workers.
#pragma once

#include <cstdint>

#include "engine/settings.hpp"

namespace longhaul::box {

/// What each of `workers` gets of the settings of the whole box: limits, rates and tables are divided evenly; limits of
/// one flow stay, within the worker's share.
engine::Settings share_of(const engine::Settings& box, unsigned workers);

/// Slots of the restart record: each worker has as many as it may have connections, in a part of its own.
std::uint32_t record_slots(const engine::Settings& box, unsigned workers);

}  // namespace longhaul::box
