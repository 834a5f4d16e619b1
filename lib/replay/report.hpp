// SPDX-License-Identifier: BSD-3-Clause
// A replay's findings for programs (one JSON object) and for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "replay/ack_comparison.hpp"
#include "replay/runner.hpp"

namespace longhaul::replay {

/// Keys keep the order in which they are written, because reports are compared as text.
nlohmann::ordered_json to_json(const Result& result, const AckComparison& comparison);

std::string to_text(const Result& result, const AckComparison& comparison);

std::string_view name_of(FlowReport::End end);

}  // namespace longhaul::replay
