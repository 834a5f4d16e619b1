// SPDX-License-Identifier: BSD-3-Clause
// Decides which pauses of workers are reported, and when. Each is reported once, together with those that closely
// follow.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "app/box/box_loop.hpp"
#include "base/time.hpp"

namespace longhaul::app {

class PauseWatch {
 public:
  /// The time between two reports. An overloaded machine has many short pauses, and this keeps the reports rare. Pauses
  /// that lasted kLong on average since the last report do not wait.
  static constexpr Duration kQuiet = seconds(60);
  static constexpr Duration kLong = seconds(1);

  explicit PauseWatch(unsigned workers) : told_(workers) {}

  /// The pauses since the last report.
  struct Event {
    unsigned workers;  ///< that stood still
    Pauses most;       ///< of the worker that stood still for longest
  };

  /// `pauses` are the totals of each worker. Call now and then.
  std::optional<Event> look(std::span<const Pauses> pauses, Time now);

 private:
  std::vector<Pauses> told_;
  Time quiet_until_ = 0;
};

}  // namespace longhaul::app
