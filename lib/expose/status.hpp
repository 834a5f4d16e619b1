// SPDX-License-Identifier: BSD-3-Clause
// What the status page shows, for programs: /status.json.
#pragma once

#include <string>

#include "expose/history.hpp"
#include "expose/snapshot.hpp"

namespace longhaul::expose {

/// "running", "draining", "bypass", or "silent": a worker stands still.
std::string_view state_of(const Snapshot& snapshot);

/// One object; its `history` has a list for each column and `time` for all of them.
std::string status_json(const Snapshot& snapshot, const History& history);

}  // namespace longhaul::expose
