// SPDX-License-Identifier: BSD-3-Clause
// What happened to one frame, read from the engine's counters before and after.
#pragma once

#include <string_view>
#include <vector>

#include "metrics/counter_set.hpp"

namespace longhaul::replay {

/// The counters of received frames that are not forwarded. A counter in the table of metrics/counters.hpp with the
/// prefix absorbed_ or dropped_ is included automatically.
const std::vector<Counter>& not_forwarded_counters();

/// The counters of frames that the box itself originated.
const std::vector<Counter>& made_counters();

std::string_view name_of(Counter counter);

/// Watches counters over the handling of one frame.
class Fates {
 public:
  void begin(const Counters& counters) { before_ = counters; }
  void end(const Counters& counters) { after_ = &counters; }
  bool rose(Counter counter) const { return after_ != nullptr && (*after_)[counter] > before_[counter]; }

 private:
  Counters before_;
  const Counters* after_ = nullptr;
};

}  // namespace longhaul::replay
