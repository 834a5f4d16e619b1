// SPDX-License-Identifier: BSD-3-Clause
#include "plan/text.hpp"

#include <algorithm>

#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "plan/depth.hpp"

namespace longhaul::plan {
namespace {

struct Unit {
  double factor;
  std::string_view name;
};
constexpr Unit kRates[] = {{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}, {1, "bit/s"}};
constexpr Unit kTimes[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
constexpr Unit kAmounts[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};

/// In the largest unit in which the value is at least 1, or else in the smallest unit.
std::string in_units(double value, std::span<const Unit> units, int digits) {
  for (const Unit& unit : units)
    if (value >= unit.factor * (1 - 1e-9) || &unit == &units.back())
      return fmt::format("{:.{}g} {}", value / unit.factor, digits, unit.name);
  return "";
}

/// Three significant digits, without an exponent.
std::string plain(double value) {
  if (!std::isfinite(value)) return "-";
  const double digits = value <= 0 ? 0 : std::floor(std::log10(value));
  const int behind = digits >= 2 ? (digits >= 3 ? 0 : 1) : static_cast<int>(std::min(2 - digits, 9.0));
  return fmt::format("{:.{}f}", value, behind);
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string rate_text(double bits_per_second) { return in_units(bits_per_second, kRates, 4); }
std::string time_text(double seconds) { return in_units(seconds, kTimes, 4); }
std::string amount_text(double bytes) { return in_units(bytes, kAmounts, 5); }
std::string distance_text(Duration round_trip) { return fmt::format("{:.6g} km", kilometres(round_trip)); }

std::string capitals(std::string_view letters) {
  std::string out(letters);
  std::ranges::transform(out, out.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return out;
}

Cell size_cell(std::uint64_t bytes) { return {size_text(bytes), bytes}; }
Cell gigabits(double bits_per_second) { return {plain(bits_per_second / 1e9), bits_per_second}; }
Cell microseconds_cell(double seconds) { return {fmt::format("{:.1f}", seconds * 1e6), seconds}; }

}  // namespace longhaul::plan
