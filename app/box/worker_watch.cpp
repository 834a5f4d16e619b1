// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/worker_watch.hpp"

#include <algorithm>

namespace longhaul::app {

std::vector<WorkerWatch::Event> WorkerWatch::look(std::span<const std::uint64_t> rounds, Time now) {
  const Duration gap = last_ == 0 ? 0 : std::min(now - last_, kLongestGap);
  last_ = now;
  std::vector<Event> events;
  for (unsigned i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    if (rounds[i] != worker.rounds) {
      if (worker.stands_still) events.push_back({i, false, worker.still});
      worker = {rounds[i], 0, false};
      continue;
    }
    worker.still += gap;
    if (worker.stands_still || worker.still < stall_) continue;
    worker.stands_still = true;
    ++stalls_;
    events.push_back({i, true, worker.still});
  }
  return events;
}

}  // namespace longhaul::app
