// SPDX-License-Identifier: BSD-3-Clause
// How many messages fill a link (NTT Technical Review 22(3), 2024):
//   QD = floor(rate x RTT / (8 x bytes on the line)).
// Integer arithmetic throughout, to reproduce the published figures exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"

namespace longhaul::plan {

/// Bytes under way on a line of `rate_bps` in `round_trip`, rounded down: the bandwidth-delay product.
std::uint64_t bandwidth_delay_bytes(std::uint64_t rate_bps, Duration round_trip);

/// The formula: the number of messages of `line_bytes` each that fill the line. 0 when a round trip is shorter than one
/// message; one must be under way all the same.
std::uint64_t depth_for(std::uint64_t rate_bps, Duration round_trip, std::uint64_t line_bytes);

/// The round trip that `depth` messages fill, in nanoseconds, rounded down.
Duration round_trip_filled(std::uint64_t rate_bps, std::uint64_t depth, std::uint64_t line_bytes);

/// Kilometres of fibre for a round trip, at 5 us per kilometre and direction.
double kilometres(Duration round_trip);

/// Round trips from `least` to `most`, evenly spaced on a logarithmic axis, close enough to show a curve's bends.
std::vector<Duration> distances_between(Duration least, Duration most);

}  // namespace longhaul::plan
