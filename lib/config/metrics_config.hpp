// SPDX-License-Identifier: BSD-3-Clause
// Where a running box serves its metrics and its status page.
#pragma once

#include <string>

#include "config/document.hpp"

namespace longhaul::config {

inline constexpr unsigned kMostPairs = 10000;  ///< pairs of hosts with series of their own

struct MetricsConfig {
  std::string listen;         ///< "127.0.0.1:9464" or "[::1]:9464"; empty: not served
  std::string position;       ///< "FILE:LINE:COL: metrics.listen", for messages about the address itself
  unsigned host_pairs = 100;  ///< pairs of hosts with series of their own; the others are summed
};

/// Reads `metrics`. Throws ConfigError.
MetricsConfig read_metrics(const Value& value);

}  // namespace longhaul::config
