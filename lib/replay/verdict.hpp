// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace longhaul::replay {

/// How a check, a capture or a whole run came out. The value is the exit status.
enum class Verdict : std::uint8_t { agreed = 0, differs = 1, unusable = 2, nothing_compared = 3 };

constexpr std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::agreed:
      return "agreed";
    case Verdict::differs:
      return "differs";
    case Verdict::unusable:
      return "unusable";
    case Verdict::nothing_compared:
      return "nothing_compared";
  }
  return "";
}

/// The one of two that a run ends with: an unusable capture before a difference, and this before nothing compared.
constexpr Verdict worse(Verdict one, Verdict other) {
  constexpr auto rank = [](Verdict verdict) {
    switch (verdict) {
      case Verdict::unusable:
        return 3;
      case Verdict::differs:
        return 2;
      case Verdict::nothing_compared:
        return 1;
      case Verdict::agreed:
        break;
    }
    return 0;
  };
  return rank(one) < rank(other) ? other : one;
}

}  // namespace longhaul::replay
