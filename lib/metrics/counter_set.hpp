// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "metrics/counters.hpp"
#include "wire/frame.hpp"

namespace longhaul {

using metrics::Counter;

/// One worker's counters: the named events, and the frames by result of parsing.
struct Counters {
  std::array<std::uint64_t, metrics::kCounterCount> events{};
  std::array<std::uint64_t, wire::kParseStatusCount> parsed{};

  std::uint64_t& operator[](Counter counter) noexcept { return events[static_cast<std::size_t>(counter)]; }
  std::uint64_t operator[](Counter counter) const noexcept { return events[static_cast<std::size_t>(counter)]; }

  /// Adds the counts of another worker.
  Counters& operator+=(const Counters& more) noexcept {
    for (std::size_t i = 0; i < events.size(); ++i) events[i] += more.events[i];
    for (std::size_t i = 0; i < parsed.size(); ++i) parsed[i] += more.parsed[i];
    return *this;
  }
};

}  // namespace longhaul
