// SPDX-License-Identifier: BSD-3-Clause
// The invariants of docs/design.md, section 3, by name, and a violation of one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul::sim {

enum class Rule : std::uint8_t {
  nothing_lost = 1,
  exact,
  transparent,
  indistinguishable,
  never_invented,
  fail_loudly,
  bounded,
  live,  ///< rule 8: over a link that only loses frames, everything ends well; sim/pair.hpp checks the speed
};

constexpr std::string_view name_of(Rule rule) {
  constexpr std::string_view kNames[] = {"",
                                         "nothing acknowledged is lost",
                                         "byte-exact, in order, once",
                                         "transparent",
                                         "a pseudo-ACK is indistinguishable",
                                         "never answer for data the box does not have",
                                         "fail loudly",
                                         "bounded",
                                         "live"};
  return kNames[static_cast<std::size_t>(rule)];
}

struct Violation {
  Rule rule = Rule::live;
  std::string text;  ///< flow, PSN, time
};

}  // namespace longhaul::sim
