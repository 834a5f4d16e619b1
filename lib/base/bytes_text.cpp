// SPDX-License-Identifier: BSD-3-Clause
#include "base/bytes_text.hpp"

#include <cstddef>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace longhaul {
namespace {

constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

}  // namespace

std::string bytes_text(double bytes) {
  // What would be rounded to 1024 is 1.00 of the next unit.
  constexpr double kNext = 1023.5;
  std::size_t unit = 0;
  for (; bytes >= kNext && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  if (unit == 0) return fmt::format("{:.0f} {}", bytes, kUnits[unit]);
  const int decimals = bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

std::string size_text(std::uint64_t bytes) {
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

}  // namespace longhaul
