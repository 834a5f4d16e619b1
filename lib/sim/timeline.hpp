// SPDX-License-Identifier: BSD-3-Clause
// What is to happen in a world, in the order of time; what was appointed first for a time happens first.
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
  /// kNever: there is none.
  Time next() const { return appointments_.empty() ? kNever : appointments_.front().at; }
  /// Lets all happen that is due by `now`, what is appointed meanwhile included.
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
