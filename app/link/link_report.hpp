// SPDX-License-Identifier: BSD-3-Clause
// What an emulated link counted, for people and for scripts.
#pragma once

#include <string>

#include "app/command/json_file.hpp"
#include "link/counters.hpp"

namespace longhaul::app {

/// `a_to_b_received` and so on.
void add_link_counters(Json& out, const std::string& direction, const link::Counters& counters);
/// The counters that are not zero.
std::string link_table(const std::string& direction, const link::Counters& counters);

}  // namespace longhaul::app
