// SPDX-License-Identifier: BSD-3-Clause
// One sentence for a whole table: where the pair would help, where it would not, and what else would.
#pragma once

#include <string>

#include "plan/throughput.hpp"

namespace longhaul::plan {

/// For a table of one row the same as advise(Ways).
std::string summarize(const ThroughputQuestion& question);

}  // namespace longhaul::plan
