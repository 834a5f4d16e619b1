// SPDX-License-Identifier: BSD-3-Clause
#include "expose/fold.hpp"

#include "base/time.hpp"

namespace longhaul::expose {

prometheus::ClientMetric::Histogram fold(const metrics::Histogram& histogram, Edges edges) {
  constexpr unsigned kPerPower = 1u << metrics::Histogram::kSubBits;
  prometheus::ClientMetric::Histogram out;
  out.sample_count = histogram.count();
  out.sample_sum = in_seconds(histogram.sum());
  const std::size_t first = metrics::Histogram::index_of(1ull << edges.first);
  const std::size_t end = metrics::Histogram::index_of(1ull << edges.last);
  const std::size_t step = kPerPower / edges.per_power;
  std::uint64_t count = 0;
  std::size_t next = 0;
  for (std::size_t edge = first; edge <= end; edge += step) {
    for (; next < edge; ++next) count += histogram.bucket(next);
    out.bucket.push_back({count, in_seconds(metrics::Histogram::upper_edge(edge - 1))});
  }
  return out;
}

}  // namespace longhaul::expose
