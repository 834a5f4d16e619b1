// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace longhaul {

/// The two ports of a box: one towards its own hosts, one towards the long haul.
enum class Side : std::uint8_t { host = 0, wan = 1 };

constexpr Side other(Side side) { return side == Side::host ? Side::wan : Side::host; }
constexpr std::string_view name_of(Side side) { return side == Side::host ? "host" : "wan"; }

}  // namespace longhaul
