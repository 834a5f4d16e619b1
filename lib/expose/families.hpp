// SPDX-License-Identifier: BSD-3-Clause
// A snapshot in Prometheus' terms: names, labels, base units.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "expose/snapshot.hpp"

namespace longhaul::expose {

/// Everything that is exposed. The number of series depends only on the number of workers and the limit on host pairs.
std::vector<prometheus::MetricFamily> families(const Snapshot& snapshot);

/// In Prometheus' text format, version 0.0.4.
std::string metrics_text(const Snapshot& snapshot);
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// All families and the meaning of their labels, as a page in Markdown: docs/operate/metrics.md.
std::string metrics_page();

}  // namespace longhaul::expose
