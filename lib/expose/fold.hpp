// SPDX-License-Identifier: BSD-3-Clause
// From 960 logarithmic buckets to the few that a scrape may carry.
#pragma once

#include <prometheus/client_metric.h>

#include <cstdint>

#include "metrics/histogram.hpp"

namespace longhaul::expose {

/// Edges from 2^first to 2^last nanoseconds, `per_power` (1, 2, 4, 8 or 16) of them for each power of two.
struct Edges {
  unsigned first;
  unsigned last;
  unsigned per_power;
};

/// Delays inside a box: 256 ns to 1 s.
inline constexpr Edges kDelayEdges{8, 30, 1};
/// Round trips: 131 us (13 km of fibre) to 1 s.
inline constexpr Edges kRoundTripEdges{17, 30, 2};

/// Cumulative and in seconds, as Prometheus has it. Each edge is the edge of one of our own buckets (the largest value
/// in it, one nanosecond below the round number), so all counts are exact.
prometheus::ClientMetric::Histogram fold(const metrics::Histogram& histogram, Edges edges);

}  // namespace longhaul::expose
