// SPDX-License-Identifier: BSD-3-Clause
#include "config/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>

#include <fmt/format.h>

namespace longhaul::config {
namespace {

__extension__ typedef unsigned __int128 Wide;

struct Unit {
  std::string_view name;
  std::uint64_t factor;  ///< in the result's unit
};

constexpr Unit kSizes[] = {
    {"B", 1},     {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30},  {"TiB", 1ull << 40},
    {"kB", 1000}, {"KB", 1000},        {"MB", 1000'000},    {"GB", 1000'000'000}, {"TB", 1000'000'000'000}};
constexpr Unit kDurations[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000'000}, {"s", 1000'000'000}, {"min", 60'000'000'000}, {"h", 3600'000'000'000}};
constexpr Unit kRates[] = {{"bps", 1},         {"kbps", 1000},         {"Kbps", 1000},
                           {"Mbps", 1000'000}, {"Gbps", 1000'000'000}, {"Tbps", 1000'000'000'000}};
constexpr Unit kDistances[] = {{"m", 5}, {"km", 5000}};

struct Kind {
  std::string_view expected;
  std::string_view whole;  ///< the unit in which the result must be a whole number
  std::span<const Unit> units;
};

constexpr Kind kSize{"a size such as 64MiB, 4KiB or 512B", "bytes", kSizes};
constexpr Kind kDuration{"a duration such as 5ms, 200us or 3s", "nanoseconds", kDurations};
constexpr Kind kRate{"a rate such as 100Gbps or 2.5Gbps", "bits per second", kRates};
constexpr Kind kDistance{"a distance such as 1000km", "nanoseconds of fibre", kDistances};

[[noreturn]] void fail(std::string_view expected, std::string_view text, const std::string& why) {
  throw QuantityError(fmt::format("expected {}, got \"{}\"{}", expected, text, why));
}

std::string names(std::span<const Unit> units) {
  std::string out;
  for (const Unit& unit : units) out += fmt::format("{}{}", out.empty() ? "" : ", ", unit.name);
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::uint64_t parse(const Kind& kind, std::string_view text) {
  constexpr Wide kMax = UINT64_MAX;
  Wide digits = 0;
  Wide scale = 1;  // 10 to the number of digits after the point
  std::size_t at = 0;
  bool any = false;
  bool point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.') {
      point = true;
      continue;
    }
    digits = digits * 10 + static_cast<Wide>(text[at] - '0');
    if (point) scale *= 10;
    any = true;
    if (digits > kMax || scale > kMax) fail(kind.expected, text, ": too many digits");
  }
  if (!any || text[at - 1] == '.') fail(kind.expected, text, "");
  std::string_view unit = text.substr(at);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty()) {
    if (digits == 0) return 0;
    fail(kind.expected, text, fmt::format(": the unit is missing ({})", names(kind.units)));
  }
  for (const Unit& known : kind.units) {
    if (known.name != unit) continue;
    const Wide product = digits * known.factor;
    if (product / scale > kMax) fail(kind.expected, text, ": too large");
    if (product % scale != 0) fail(kind.expected, text, fmt::format(": not a whole number of {}", kind.whole));
    return static_cast<std::uint64_t>(product / scale);
  }
  fail(kind.expected, text, fmt::format(": unknown unit \"{}\" (known: {})", unit, names(kind.units)));
}

}  // namespace

std::string_view name_of(Quantity quantity) {
  constexpr std::string_view kNames[] = {"size", "duration", "rate", "distance"};
  return kNames[static_cast<std::size_t>(quantity)];
}

std::string pattern_of(Quantity quantity) {
  // In the order of Quantity.
  constexpr Kind kKinds[] = {kSize, kDuration, kRate, kDistance};
  std::string units;
  for (const Unit& unit : kKinds[static_cast<std::size_t>(quantity)].units)
    units += fmt::format("{}{}", units.empty() ? "" : "|", unit.name);
  return fmt::format(R"(^([0-9]*\.?[0-9]+ *({})|0*\.?0+)$)", units);
}

std::uint64_t parse_size(std::string_view text) { return parse(kSize, text); }
Duration parse_duration(std::string_view text) { return parse(kDuration, text); }

std::string duration_text(Duration duration) {
  struct Unit {
    Duration length;
    std::string_view name;
  };
  constexpr Unit kUnits[] = {{seconds(1), "s"}, {milliseconds(1), "ms"}, {microseconds(1), "us"}, {1, "ns"}};
  const auto* unit = std::ranges::find_if(kUnits, [=](const Unit& u) { return duration % u.length == 0; });
  return fmt::format("{}{}", duration / unit->length, unit->name);
}

std::uint64_t parse_rate(std::string_view text) { return parse(kRate, text); }
Duration parse_distance(std::string_view text) { return parse(kDistance, text); }

double parse_fraction(std::string_view text) {
  constexpr std::string_view kExpected = "a fraction from 0 to 1 such as 1%, 0.01 or 1e-3";
  std::string_view number = text;
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size()) fail(kExpected, text, "");
  if (percent) value /= 100;
  // In this form NaN fails too.
  if (!(value >= 0 && value <= 1)) fail(kExpected, text, ": out of range");
  return value;
}

}  // namespace longhaul::config
