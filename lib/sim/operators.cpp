// SPDX-License-Identifier: BSD-3-Clause
#include "sim/operators.hpp"

#include <algorithm>

#include "sim/box_holds.hpp"
#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

// When an operator's tool checks whether custody is empty: soon, then less and less often.
constexpr Duration kFirstLook = microseconds(100);
constexpr Duration kLastLook = milliseconds(50);

}  // namespace

Operators::Operators(Scene& scene, Topology& topology) : scene_(scene), topology_(topology) {
  for (unsigned box = 0; box < 2; ++box)
    if (box_plan(scene.plan, box).present != 0) plan(box);
}

void Operators::plan(unsigned box) {
  const BoxPlan& plan = box_plan(scene_.plan, box);
  const auto at = [this](Number us, std::function<void()> what) {
    scene_.timeline.appoint(scene_.at(us), std::move(what));
  };
  if (plan.start_at_us == 0)
    start(box);
  else
    at(plan.start_at_us, [this, box] { start(box); });
  if (plan.drain_at_us != 0) at(plan.drain_at_us, [this, box] { drain(box, true); });
  if (plan.undrain_at_us != 0) at(plan.undrain_at_us, [this, box] { drain(box, false); });
  if (plan.repolicy_at_us != 0) at(plan.repolicy_at_us, [this, box] { change_policy(box); });
  if (plan.bypass_at_us != 0) at(plan.bypass_at_us, [this, box] { bypass(box, kFirstLook); });
  if (plan.pause_us != 0) at(plan.pause_at_us, [this, box] { stand_still(box); });
  if (plan.crash_at_us != 0) {
    at(plan.crash_at_us, [this, box] { crash(box); });
    if (plan.restart_after_us != 0) at(plan.crash_at_us + plan.restart_after_us, [this, box] { start(box); });
  }
}

void Operators::start(unsigned box) {
  Box& its = topology_.box(box);
  if (its.running()) return;
  scene_.judge.box_starts(box, scene_.now);
  its.start(scene_.now);
}

void Operators::crash(unsigned box) {
  Box& its = topology_.box(box);
  if (!its.running()) return;
  ++scene_.totals.crashes;
  ran_whole_[box] = false;
  topology_.count_engines(box);
  const std::uint64_t owed = its.unconfirmed_bytes();
  its.crash();
  // A record that no later process reads is of no use.
  const BoxPlan& plan = box_plan(scene_.plan, box);
  const bool remembered = plan.record != 0 && plan.restart_after_us != 0;
  scene_.judge.box_crashed(box, owed, remembered);
}

void Operators::drain(unsigned box, bool on) {
  if (!topology_.box(box).running()) return;
  topology_.box(box).set_draining(on);
  if (on && is_attacked(scene_.plan)) await_drained(box, scene_.now, kFirstLook);
}

void Operators::await_drained(unsigned box, Time since, Duration look) {
  const Box& its = topology_.box(box);
  if (!its.running() || !its.draining()) return;
  if (holds_unpromised(its, scene_.now)) {
    scene_.timeline.appoint(scene_.now + look, [=, this] { await_drained(box, since, std::min(2 * look, kLastLook)); });
    return;
  }
  drained_[box] = std::max<Duration>(scene_.now - since, 1);
}

void Operators::change_policy(unsigned box) {
  if (topology_.box(box).running()) topology_.box(box).reconfigure(engine_settings(scene_.plan, box, true));
}

void Operators::stand_still(unsigned box) {
  if (!topology_.box(box).running()) return;
  const Time until = scene_.now + microseconds(box_plan(scene_.plan, box).pause_us);
  ++scene_.totals.pauses;
  topology_.box(box).pause(scene_.now, until);
  scene_.judge.box_stands_still(box, until);
}

// As `longhaul ctl bypass on` does: drain first.
void Operators::bypass(unsigned box, Duration look) {
  Box& its = topology_.box(box);
  if (!its.running()) return;
  its.set_draining(true);
  if (its.custody_packets() != 0 || its.waiting_frames() != 0) {
    scene_.timeline.appoint(scene_.now + look, [this, box, look] { bypass(box, std::min(2 * look, kLastLook)); });
    return;
  }
  if (is_attacked(scene_.plan))
    drained_[box] = std::max<Duration>(scene_.now - scene_.at(box_plan(scene_.plan, box).bypass_at_us), 1);
  scene_.judge.box_forgets(box);
  its.set_bypass(true, scene_.now);
  ran_whole_[box] = false;
  const Number duration = box_plan(scene_.plan, box).bypass_us;
  if (duration != 0) scene_.timeline.appoint(scene_.now + microseconds(duration), [this, box] { end_bypass(box); });
}

void Operators::end_bypass(unsigned box) {
  Box& its = topology_.box(box);
  if (!its.running()) return;
  its.set_bypass(false, scene_.now);
  its.set_draining(false);
}

}  // namespace longhaul::sim
