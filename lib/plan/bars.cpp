// SPDX-License-Identifier: BSD-3-Clause
#include "plan/bars.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "plan/text.hpp"

namespace longhaul::plan {
namespace {

constexpr std::size_t kBarsWidth = 100;
constexpr std::size_t kValueWidth = 8;  // " 0.0654"

std::string place_text(double x, const Axis& axis) {
  return axis.marks == Axis::Marks::bytes ? size_text(static_cast<std::uint64_t>(x)) : fmt::format("{:.6g}", x);
}

/// "pair" of "pair, simulated": the kind stands in the heading.
std::string_view short_name(const Series& series) {
  return std::string_view(series.name).substr(0, series.name.find(','));
}

}  // namespace

std::string bars(const Plot& plot) {
  std::set<double> places;
  std::size_t place_width = 0;
  std::size_t name_width = 0;
  double most = 0;
  for (const Series& series : plot.series) {
    if (series.style != Series::Style::points) continue;
    name_width = std::max(name_width, short_name(series).size());
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.y[i])) continue;
      places.insert(series.x[i]);
      place_width = std::max(place_width, place_text(series.x[i], plot.x).size());
      most = std::max(most, series.y[i]);
    }
  }
  if (places.empty() || most <= 0) return "";

  const std::size_t before = place_width + 2 + name_width + 3;
  const std::size_t room = kBarsWidth - std::min(kBarsWidth / 2, before + kValueWidth);
  std::string out = fmt::format("{} ({}): {} by {}\n", plot.title, name_of(plot.kind), plot.y.label, plot.x.label);
  for (const double place : places) {
    std::string head = place_text(place, plot.x);
    for (const Series& series : plot.series) {
      if (series.style != Series::Style::points) continue;
      const auto at = std::ranges::find(series.x, place);
      if (at == series.x.end()) continue;
      const double value = series.y[static_cast<std::size_t>(at - series.x.begin())];
      if (!std::isfinite(value)) continue;
      const auto length =
          static_cast<std::size_t>(std::lround(std::max(0.0, value) / most * static_cast<double>(room)));
      out += fmt::format("{:>{}}  {:<{}}  |{} {}\n", head, place_width, short_name(series), name_width,
                         std::string(length, '#'), gigabits(value * 1e9).text);
      head.clear();  // once for each group
    }
  }
  return out;
}

}  // namespace longhaul::plan
