// SPDX-License-Identifier: BSD-3-Clause
// What a port counted, for people and for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/port_stats.hpp"

namespace longhaul::expose {

/// Keys stay in the order in which they were added.
using Json = nlohmann::ordered_json;

/// A line of a table: a count, its name, and what it means.
std::string report_line(std::string_view name, std::uint64_t value, std::string_view help);

/// Every figure, under `prefix` and its name: "port_wan_imissed" for the prefix "port_wan_".
void add_port_figures(Json& out, std::string_view prefix, const PortStats& stats);
/// A line for each figure that is not zero.
std::string port_table(std::string_view prefix, const PortStats& stats);

}  // namespace longhaul::expose
