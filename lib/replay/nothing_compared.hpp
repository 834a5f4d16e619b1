// SPDX-License-Identifier: BSD-3-Clause
// Why a replay compared no ACK at all: it would agree with anything, so it must not pass as agreement.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "replay/ack_comparison.hpp"
#include "replay/runner.hpp"

namespace longhaul::replay {

struct NothingCompared {
  std::string_view reason;  ///< for programs, such as "no_roce"
  std::string text;         ///< what is so, for people
  std::string advice;       ///< what to do about it
};

/// The first reason that explains it; none if a real ACK was compared with a pseudo-ACK, or if the policy makes none.
std::optional<NothingCompared> nothing_compared(const Result& result, const AckComparison& comparison);

}  // namespace longhaul::replay
