// SPDX-License-Identifier: BSD-3-Clause
// What the status page shows, for programs: /status.json.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "engine/link_state.hpp"
#include "expose/history.hpp"
#include "expose/snapshot.hpp"

namespace longhaul::expose {

/// "running", "draining", "bypass", or "silent": a worker stands still.
std::string_view state_of(const Snapshot& snapshot);

/// What the box believes of the long link, beside what is configured: `link` here and in `ctl status --json`.
nlohmann::ordered_json link_json(std::uint64_t wan_rate_bps, const engine::LinkState& link);

/// One object; its `history` has a list for each column and `time` for all of them.
std::string status_json(const Snapshot& snapshot, const History& history);

}  // namespace longhaul::expose
