// SPDX-License-Identifier: BSD-3-Clause
// Decides which pauses of workers are told, and when: each once, together with those that came close behind.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "app/box/box_loop.hpp"
#include "base/time.hpp"

namespace longhaul::app {

class PauseWatch {
 public:
  /// Between two that are told: of a machine with too much to do, whose pauses are many and short, once in a while.
  /// Those that last for kLong, on average since the last one told, do not wait.
  static constexpr Duration kQuiet = seconds(60);
  static constexpr Duration kLong = seconds(1);

  explicit PauseWatch(unsigned workers) : told_(workers) {}

  /// What the workers' pauses came to since the last one told.
  struct Event {
    unsigned workers;  ///< that stood still
    Pauses most;       ///< of the worker that did for longest
  };

  /// `pauses` of each worker, looked at now and then.
  std::optional<Event> look(std::span<const Pauses> pauses, Time now);

 private:
  std::vector<Pauses> told_;
  Time quiet_until_ = 0;
};

}  // namespace longhaul::app
