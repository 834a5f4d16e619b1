// SPDX-License-Identifier: BSD-3-Clause
#include "plan/depth.hpp"

#include <algorithm>
#include <cmath>

#include "config/quantity.hpp"

namespace longhaul::plan {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr Wide kBitNanoseconds = Wide{8} * seconds(1);  // in a byte and second

std::uint64_t narrow(Wide value) { return static_cast<std::uint64_t>(std::min<Wide>(value, UINT64_MAX)); }

}  // namespace

std::uint64_t bandwidth_delay_bytes(std::uint64_t rate_bps, Duration round_trip) {
  return narrow(Wide{rate_bps} * round_trip / kBitNanoseconds);
}

std::uint64_t depth_for(std::uint64_t rate_bps, Duration round_trip, std::uint64_t line_bytes) {
  return narrow(Wide{rate_bps} * round_trip / (kBitNanoseconds * line_bytes));
}

Duration round_trip_filled(std::uint64_t rate_bps, std::uint64_t depth, std::uint64_t line_bytes) {
  return narrow(Wide{depth} * line_bytes * kBitNanoseconds / rate_bps);
}

double kilometres(Duration round_trip) {
  static const double one_way = static_cast<double>(config::parse_distance("1km"));
  return static_cast<double>(round_trip) / (2 * one_way);
}

std::vector<Duration> distances_between(Duration least, Duration most) {
  constexpr int kPoints = 120;
  const double ratio = static_cast<double>(most) / static_cast<double>(least);
  std::vector<Duration> out;
  for (int i = 0; i <= kPoints; ++i)
    out.push_back(static_cast<Duration>(
        std::llround(static_cast<double>(least) * std::pow(ratio, static_cast<double>(i) / kPoints))));
  return out;
}

}  // namespace longhaul::plan
