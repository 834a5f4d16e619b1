// SPDX-License-Identifier: BSD-3-Clause
// What a capture's replay has to meet. The exit status and every report are made from these checks.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "replay/ack_comparison.hpp"
#include "replay/nothing_compared.hpp"
#include "replay/runner.hpp"
#include "replay/verdict.hpp"

namespace longhaul::replay {

struct Check {
  std::string name;  ///< what has to be so
  Verdict verdict = Verdict::agreed;
  std::string message;  ///< how it is instead, a whole sentence; empty when it is so
};

/// What the user demands beyond agreement, for each capture.
struct Demands {
  std::optional<std::uint64_t> min_matched;    ///< 0: nothing needs to be compared
  std::optional<std::uint64_t> max_unmatched;  ///< real ACKs
};

/// `expected` are the capture's counters of an earlier run (expected_counters()), or null if there are none to meet.
std::vector<Check> judge(const Result& result, const AckComparison& comparison, const Demands& demands,
                         const nlohmann::ordered_json* expected);

Verdict verdict_of(const std::vector<Check>& checks);

}  // namespace longhaul::replay
