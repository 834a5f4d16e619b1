// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes_text.hpp"
#include "base/time.hpp"
#include "plan/table.hpp"

namespace longhaul::plan {

std::string rate_text(double bits_per_second);  ///< "4.19 Gbit/s"
std::string time_text(double seconds);          ///< "1.002 ms"
/// "100 km of fibre"; for round trips that no fibre on Earth has, what else takes so long.
std::string path_text(Duration round_trip);
/// "100 km"; beyond any fibre "a round trip of 600 ms".
std::string distance_text(Duration round_trip);
std::string capitals(std::string_view letters);  ///< "WRITE" of "write"

Cell size_cell(std::uint64_t bytes);
Cell round_trip_cell(Duration round_trip);  ///< text in ms, value in s
/// Text in km, empty beyond any fibre; the value is a length of fibre in any case.
Cell kilometres_cell(Duration round_trip);
Cell gigabits(double bits_per_second);   ///< text in Gbit/s, value in bit/s
Cell microseconds_cell(double seconds);  ///< text in us, value in s

}  // namespace longhaul::plan
