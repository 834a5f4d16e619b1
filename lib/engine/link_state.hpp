// SPDX-License-Identifier: BSD-3-Clause
// What one worker, or several together, believe of the long link.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace longhaul::engine {

struct LinkState {
  std::uint64_t rate_bps = 0;  ///< what the link carries, bits per second of frames; 0: it was not full lately
  std::uint64_t pace_bps = 0;  ///< the most that leaves for the link; 0: no limit
  Duration round_trip = 0;     ///< the shortest lately; 0: unknown
  Duration queued = 0;         ///< of the least delayed answer of the last round trip

  /// Each worker knows its own part of the link.
  LinkState& operator+=(const LinkState& more) {
    rate_bps += more.rate_bps;
    pace_bps += more.pace_bps;
    if (round_trip == 0 || (more.round_trip != 0 && more.round_trip < round_trip)) round_trip = more.round_trip;
    queued = std::max(queued, more.queued);
    return *this;
  }
};

}  // namespace longhaul::engine
