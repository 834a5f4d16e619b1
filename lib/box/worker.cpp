// SPDX-License-Identifier: BSD-3-Clause
#include "box/worker.hpp"

#include <algorithm>

#include "box/peer_desk.hpp"

namespace longhaul::box {

Worker::Worker(const engine::Settings& settings, const WorkerPlace& place, Time clock)
    : engine_(settings, place.pools, place.ports, place.observer), time_(engine_, clock) {}

Worker::Worker(const engine::Settings& settings, const WorkerPlace& place, Time clock, steer::SteeringSettings steering,
               const Common& common)
    : spreader_(std::in_place, asking(std::move(steering)), common.rings, common.shown),
      sink_(std::in_place, place.ports, *spreader_),
      engine_(settings, place.pools, *sink_, place.observer),
      time_(engine_, clock) {
  engine_.share(common.shared);
  engine_.ask_before_learning(
      [this](const flow::ConnectionInfo& info, Time now) { return spreader_->sees_whole(info, now); });
}

void Worker::use(PeerDesk& desk, unsigned number) {
  window_ = &desk.window_of(number);
  engine_.set_own_frames(*window_);
  if (number == 0) desk_ = &desk;
  if (desk.repairs()) window_->join(engine_, spreader());
}

void Worker::attend_window(Time now) {
  if (desk_ != nullptr) desk_->attend(now);
  window_->attend(now);
}

Time Worker::next_deadline() const {
  Time due = engine_.next_deadline();
  if (desk_ != nullptr) due = std::min(due, desk_->deadline());
  if (window_ != nullptr) due = std::min(due, window_->deadline());
  return due;
}

// Called when frames come; the engine is there by then.
steer::SteeringSettings Worker::asking(steer::SteeringSettings steering) const {
  steering.own_engine_knows = [this](const flow::ConnectionInfo& info, Side from) { return engine_.knows(info, from); };
  return steering;
}

Counters Worker::counters() const {
  Counters sum = engine_.counters();
  if (spreader_) sum += spreader_->counters();
  return sum;
}

void Worker::reconfigure(const engine::Settings& share) {
  engine_.reconfigure(share);
  if (spreader_) spreader_->steering().set_patience({share.give_up, share.longest_give_up});
}

}  // namespace longhaul::box
