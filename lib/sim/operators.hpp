// SPDX-License-Identifier: BSD-3-Clause
// What operators do with the boxes, and what happens to the boxes: they start, drain, change their policy, are
// bypassed, stand still, crash.
#pragma once

#include <array>

#include "sim/scene.hpp"
#include "sim/topology.hpp"

namespace longhaul::sim {

class Operators {
 public:
  /// Starts the boxes that exist from the beginning, and schedules everything else.
  Operators(Scene& scene, Topology& topology);
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;

  /// The box's engines have seen everything from their start to the end.
  bool ran_whole(unsigned box) const { return ran_whole_[box]; }
  /// In a world with an attack: from the drain until the box held nothing that nobody was promised, or from the order
  /// for a bypass until frames passed by. 0: there was neither, or it never came to that.
  Duration drained(unsigned box) const { return drained_[box]; }

 private:
  void plan(unsigned box);
  void start(unsigned box);
  void crash(unsigned box);
  void drain(unsigned box, bool on);
  void await_drained(unsigned box, Time since, Duration look);
  void change_policy(unsigned box);
  void stand_still(unsigned box);
  void bypass(unsigned box, Duration look);
  void end_bypass(unsigned box);

  Scene& scene_;
  Topology& topology_;
  std::array<bool, 2> ran_whole_{true, true};
  std::array<Duration, 2> drained_{};
};

}  // namespace longhaul::sim
