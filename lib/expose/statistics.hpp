// SPDX-License-Identifier: BSD-3-Clause
// All that a box has counted, by the counters' own names: `longhaul run --stats` and its summary, `ctl counters`.
#pragma once

#include <string>

#include "expose/port_report.hpp"
#include "expose/snapshot.hpp"

namespace longhaul::expose {

/// All counters of a box, 0 included, with parse_*, custody, and the delays (`*_ns_p50`, `_p99`, `_p99_9`, `_max`,
/// `_count`).
Json counters_json(const Snapshot& snapshot);

/// One flat object: the box's name, counters_json(), the figures of both ports (`port_host_ipackets`), and with several
/// workers a list of what each counted, without the zeros.
Json statistics_json(const Snapshot& snapshot);

/// The same for people, as lines of text: what is not zero, with what it means.
std::string statistics_text(const Snapshot& snapshot);

}  // namespace longhaul::expose
