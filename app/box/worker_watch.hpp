// SPDX-License-Identifier: BSD-3-Clause
// Notices workers that stand still: their loops no longer come round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.hpp"

namespace longhaul::app {

class WorkerWatch {
 public:
  /// `stall`: a loop that has not come round for so long stands still.
  WorkerWatch(unsigned workers, Duration stall) : stall_(stall), workers_(workers) {}

  /// What a look found out.
  struct Event {
    unsigned worker;
    bool stands_still;  ///< false: it goes on again
    Duration since;     ///< for how long it stands or stood
    bool operator==(const Event&) const = default;
  };

  /// `rounds` of each worker, looked at now and then. A look that comes late says nothing about its workers: the
  /// machine may have stood still as a whole, so no more than kLongestGap of the time between two looks counts.
  std::vector<Event> look(std::span<const std::uint64_t> rounds, Time now);
  static constexpr Duration kLongestGap = milliseconds(250);

  bool stands_still(unsigned worker) const { return workers_.at(worker).stands_still; }
  /// Times that any worker stood still.
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
