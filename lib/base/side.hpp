// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longhaul {

/// The two ports of a box: one towards its own hosts, one towards the long haul.
enum class Side : std::uint8_t { host = 0, wan = 1 };

constexpr Side other(Side side) { return side == Side::host ? Side::wan : Side::host; }
constexpr std::string_view name_of(Side side) { return side == Side::host ? "host" : "wan"; }

/// Two values, one for each side. It is an aggregate, laid out as an array of the host side's value and the WAN side's:
/// `BySide<int>{1, 2}`. Values that are braced lists themselves need the array's braces too: `{{{...}, {...}}}`.
template <typename T>
struct BySide {
  T values[2];

  constexpr T& operator[](Side side) { return values[static_cast<std::size_t>(side)]; }
  constexpr const T& operator[](Side side) const { return values[static_cast<std::size_t>(side)]; }
  constexpr T* begin() { return values; }
  constexpr T* end() { return values + 2; }
  constexpr const T* begin() const { return values; }
  constexpr const T* end() const { return values + 2; }
};

}  // namespace longhaul
