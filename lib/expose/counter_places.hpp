// SPDX-License-Identifier: BSD-3-Clause
// Where each counter of metrics/counters.hpp is shown: the metric's name, and the label that tells it from others of
// its family.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "metrics/counters.hpp"

namespace longhaul::expose {

struct CounterPlace {
  metrics::Counter counter;
  std::string_view family;
  std::string_view label = {};  ///< empty: the family is this counter alone
  std::string_view value = {};
  double unit = 1;                                      ///< of what is counted, in the family's base unit
  std::optional<metrics::Counter> less = std::nullopt;  ///< a counter contained in this one that has a place of its own
};

/// A family of several counters. A family of one counter has its help from that counter.
struct CounterFamily {
  std::string_view name;
  std::string_view help;
};

/// "longhaul_rewinds_total{cause="timer"}".
std::string series_name(const CounterPlace& place);

/// Every counter once; counters of a family follow each other.
std::span<const CounterPlace> counter_places();
/// Empty for a family of one counter.
std::string_view family_help(std::string_view family);

}  // namespace longhaul::expose
