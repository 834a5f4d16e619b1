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

// Half way round the Earth and back by detours: longer fibre is not laid.
constexpr double kLongestFibre = 30'000;  // km

/// Up to a geostationary satellite and down, there and back: 4 x 35,786 km at least. Ground stations at the edge of its
/// view, and coding, add up to half as much again.
struct {
  Duration least;
  Duration most;
} constexpr kGeostationary = {milliseconds(470), milliseconds(800)};

bool is_fibre(Duration round_trip) { return kilometres(round_trip) <= kLongestFibre; }

}  // namespace

std::string rate_text(double bits_per_second) { return in_units(bits_per_second, kRates, 4); }
std::string time_text(double seconds) { return in_units(seconds, kTimes, 4); }

std::string path_text(Duration round_trip) {
  if (is_fibre(round_trip)) return distance_text(round_trip) + " of fibre";
  if (round_trip < kGeostationary.least) return "longer than any fibre on Earth";
  return round_trip <= kGeostationary.most ? "as over a geostationary satellite"
                                           : "longer than over a geostationary satellite";
}

std::string distance_text(Duration round_trip) {
  if (is_fibre(round_trip)) return fmt::format("{:.6g} km", kilometres(round_trip));
  return "a round trip of " + time_text(in_seconds(round_trip));
}

std::string capitals(std::string_view letters) {
  std::string out(letters);
  std::ranges::transform(out, out.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return out;
}

Cell size_cell(std::uint64_t bytes) { return {size_text(bytes), bytes}; }
Cell round_trip_cell(Duration round_trip) {
  return {fmt::format("{:.6g}", static_cast<double>(round_trip) / 1e6), in_seconds(round_trip)};
}
Cell kilometres_cell(Duration round_trip) {
  const double km = kilometres(round_trip);
  return {is_fibre(round_trip) ? fmt::format("{:.6g}", km) : "", km};
}
Cell gigabits(double bits_per_second) { return {plain(bits_per_second / 1e9), bits_per_second}; }
Cell microseconds_cell(double seconds) { return {fmt::format("{:.1f}", seconds * 1e6), seconds}; }

}  // namespace longhaul::plan
