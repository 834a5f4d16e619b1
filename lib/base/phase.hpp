// SPDX-License-Identifier: BSD-3-Clause
// The phases of a flow, and their names wherever they are shown. What leads from one to the next: custody/phase.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longhaul {

/// How far the box answers for a flow.
enum class Phase : std::uint8_t {
  unconfirmed,  ///< custody is taken, nothing acknowledged: no real answer has agreed yet
  confirmed,    ///< custody is taken and acknowledged
  plain,        ///< new packets pass; packets in custody go on, acknowledged where their MSN is known
  rejoining,    ///< custody is taken again, but packets before it are not answered and the MSN is not known
  failed,       ///< acknowledged data was lost: each request is answered by the fatal NAK (design rule 6)
  ended,        ///< closed or in error at the responder: everything passes
};
inline constexpr std::size_t kPhases = static_cast<std::size_t>(Phase::ended) + 1;

inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {"unconfirmed", "confirmed", "plain",
                                                                      "rejoining",   "failed",    "ended"};
constexpr std::string_view name_of(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }

}  // namespace longhaul
