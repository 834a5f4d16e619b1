// SPDX-License-Identifier: BSD-3-Clause
// Ports as they are sold, and boxes that keep up with them.
#pragma once

#include <cstdint>
#include <string_view>

namespace longhaul::plan {

struct Preset {
  std::string_view name;  ///< "400G"
  std::uint64_t rate_bps;
  /// Workers that take in a line full of packets of 4 KiB at 300 ns each, as workers_to_fill() says; and as many QPs,
  /// because a connection stays with one worker.
  std::uint32_t workers;
};

inline constexpr Preset kPresets[] = {
    {"100G", 100'000'000'000, 1},
    {"200G", 200'000'000'000, 2},
    {"400G", 400'000'000'000, 4},
    {"800G", 800'000'000'000, 8},
};

}  // namespace longhaul::plan
