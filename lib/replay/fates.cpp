// SPDX-License-Identifier: BSD-3-Clause
#include "replay/fates.hpp"

namespace longhaul::replay {

std::string_view name_of(Counter counter) { return metrics::kCounterInfo[static_cast<std::size_t>(counter)].name; }

const std::vector<Counter>& not_forwarded_counters() {
  static const std::vector<Counter> counters = [] {
    std::vector<Counter> found;
    for (std::size_t i = 0; i < metrics::kCounterCount; ++i) {
      const auto name = metrics::kCounterInfo[i].name;
      if (name.starts_with("absorbed_") || name.starts_with("dropped_")) found.push_back(static_cast<Counter>(i));
    }
    return found;
  }();
  return counters;
}

const std::vector<Counter>& made_counters() {
  static const std::vector<Counter> counters = {
      Counter::pseudo_acks,   Counter::pseudo_acks_repeated, Counter::pseudo_naks, Counter::repair_naks,
      Counter::rnr_naks_made, Counter::fatal_naks,           Counter::cnps_made,   Counter::resends};
  return counters;
}

}  // namespace longhaul::replay
