// SPDX-License-Identifier: BSD-3-Clause
// How many messages fill a link (NTT Technical Review 22(3), 2024):
//   QD = floor(rate x RTT / (8 x bytes on the line)).
// Whole numbers throughout: the published figures must come out exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"

namespace longhaul::plan {

/// Bytes under way on a line of `rate_bps` in `round_trip`, rounded down: the bandwidth-delay product.
std::uint64_t bandwidth_delay_bytes(std::uint64_t rate_bps, Duration round_trip);

/// Messages that take `line_bytes` of the line each and fill it: the formula. 0 when not even one goes into a round
/// trip; one must be under way all the same.
std::uint64_t depth_for(std::uint64_t rate_bps, Duration round_trip, std::uint64_t line_bytes);

/// The round trip that `depth` messages fill, in nanoseconds, rounded down.
Duration round_trip_filled(std::uint64_t rate_bps, std::uint64_t depth, std::uint64_t line_bytes);

/// Kilometres of fibre of a round trip: 5 us a kilometre and way.
double kilometres(Duration round_trip);

/// Round trips from `least` to `most`, evenly on a logarithmic axis: enough for a curve with its bends.
std::vector<Duration> distances_between(Duration least, Duration most);

}  // namespace longhaul::plan
