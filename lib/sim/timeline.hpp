// SPDX-License-Identifier: BSD-3-Clause
// What is to happen in a world, in order of time. Events for the same time happen in the order of their scheduling.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace longhaul::sim {

class Timeline {
 public:
  void appoint(Time when, std::function<void()> what) {
    const auto place = std::ranges::upper_bound(appointments_, when, {}, &Appointment::at);
    appointments_.insert(place, {when, std::move(what)});
  }
  /// kNever if there is none.
  Time next() const { return appointments_.empty() ? kNever : appointments_.front().at; }
  /// Runs everything that is due by `now`, including what is added meanwhile.
  void run(Time now) {
    while (next() <= now) {
      const auto what = std::move(appointments_.front().what);
      appointments_.erase(appointments_.begin());
      what();
    }
  }

 private:
  struct Appointment {
    Time at;
    std::function<void()> what;
  };
  std::vector<Appointment> appointments_;
};

}  // namespace longhaul::sim
