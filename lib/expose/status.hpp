// SPDX-License-Identifier: BSD-3-Clause
// How a box is: for `ctl status --json` and DPDK's telemetry, and with the last minutes for the status page.
#pragma once

#include <string>

#include "expose/history.hpp"
#include "expose/port_report.hpp"
#include "expose/snapshot.hpp"

namespace longhaul::expose {

/// One object. `counted` has the counters whose rates are of interest, `lost` those that should be zero.
Json status_json(const Snapshot& snapshot);

/// The busiest pairs of hosts, as of the last survey.
Json pairs_json(const SurveyResult& survey);

/// The box's peers. Of a box without `peers:` an empty list.
Json peers_json(const Snapshot& snapshot);

/// /status.json: status_json() with pairs_json(), and `history`: a list for each column and `time` for
/// all of them.
std::string status_page_json(const Snapshot& snapshot, const History& history);

}  // namespace longhaul::expose
