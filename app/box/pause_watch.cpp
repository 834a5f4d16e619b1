// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/pause_watch.hpp"

#include <algorithm>

namespace longhaul::app {

std::optional<PauseWatch::Event> PauseWatch::look(std::span<const Pauses> pauses, Time now) {
  Event event{};
  for (std::size_t i = 0; i < told_.size(); ++i) {
    const Pauses more{pauses[i].count - told_[i].count, pauses[i].lasted - told_[i].lasted};
    if (more.count == 0) continue;
    ++event.workers;
    if (more.lasted > event.most.lasted) event.most = more;
  }
  if (event.workers == 0 || (now < quiet_until_ && event.most.lasted < kLong * event.most.count)) return std::nullopt;
  std::ranges::copy(pauses, told_.begin());
  quiet_until_ = now + kQuiet;
  return event;
}

}  // namespace longhaul::app
