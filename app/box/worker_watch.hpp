// SPDX-License-Identifier: BSD-3-Clause
// Notices workers that stand still, which means that their loops no longer come round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.hpp"

namespace longhaul::app {

class WorkerWatch {
 public:
  /// A loop that has not come round for `stall` stands still.
  WorkerWatch(unsigned workers, Duration stall) : stall_(stall), workers_(workers) {}

  /// What a look found out.
  struct Event {
    unsigned worker;
    bool stands_still;  ///< false: it goes on again
    Duration since;     ///< how long it has stood, or stood, still
    bool operator==(const Event&) const = default;
  };

  /// `rounds` of each worker. Call now and then. If a call comes late, the whole machine may have stood still. So at
  /// most kLongestGap of the time between two calls counts against a worker.
  std::vector<Event> look(std::span<const std::uint64_t> rounds, Time now);
  static constexpr Duration kLongestGap = milliseconds(250);

  bool stands_still(unsigned worker) const { return workers_.at(worker).stands_still; }
  /// How many times a worker stood still.
  std::uint64_t stalls() const { return stalls_; }

 private:
  struct Worker {
    std::uint64_t rounds = 0;
    Duration still = 0;
    bool stands_still = false;
  };
  Duration stall_;
  std::vector<Worker> workers_;
  Time last_ = 0;  ///< 0: no look yet
  std::uint64_t stalls_ = 0;
};

}  // namespace longhaul::app
