// SPDX-License-Identifier: BSD-3-Clause
#include "app/pause_watch.hpp"

namespace longhaul::app {

std::optional<PauseWatch::Event> PauseWatch::look(std::span<const Pauses> pauses, Time now) {
  if (now < quiet_until_) return std::nullopt;
  Event event{};
  for (std::size_t i = 0; i < told_.size(); ++i) {
    const Pauses more{pauses[i].count - told_[i].count, pauses[i].lasted - told_[i].lasted};
    if (more.count == 0) continue;
    ++event.workers;
    if (more.lasted > event.most.lasted) event.most = more;
    told_[i] = pauses[i];
  }
  if (event.workers == 0) return std::nullopt;
  quiet_until_ = now + kQuiet;
  return event;
}

}  // namespace longhaul::app
