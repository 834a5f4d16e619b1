// SPDX-License-Identifier: BSD-3-Clause
// What a port counted, for people and for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/command/json_file.hpp"
#include "drivers/port_stats.hpp"

namespace longhaul::app {

/// A line of a table: a count, its name, and what it means.
std::string report_line(std::string_view name, std::uint64_t value, std::string_view help);

/// `port_LABEL_imissed` and so on.
void add_port(Json& out, const std::string& label, const drivers::PortStats& stats);
/// The counters that are not zero.
std::string port_table(const std::string& label, const drivers::PortStats& stats);

}  // namespace longhaul::app
