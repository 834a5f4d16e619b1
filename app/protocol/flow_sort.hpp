// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string_view>

namespace longhaul::app {

/// What flows can be sorted by: the largest value first. The values: app/control/flow_query.cpp.
inline constexpr std::array<std::string_view, 5> kFlowSortKeys = {"custody", "unconfirmed", "idle", "rtt", "bytes"};

}  // namespace longhaul::app
