// SPDX-License-Identifier: BSD-3-Clause
// The counters of a capture and of each of its flows, written down in one run and demanded in later ones.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "replay/ack_comparison.hpp"
#include "replay/runner.hpp"

namespace longhaul::replay {

/// As --write-expect writes them: "nothing_compared" (the reason, or ""), "totals", and "flows" by their hosts and
/// QPNs.
nlohmann::ordered_json expected_counters(const Result& result, const AckComparison& comparison);

/// For "totals" and for each flow of either side: its name, and how it differs ("" if it does not).
std::vector<std::pair<std::string, std::string>> compare_counters(const nlohmann::ordered_json& expected,
                                                                  const nlohmann::ordered_json& counted);

}  // namespace longhaul::replay
