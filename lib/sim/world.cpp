// SPDX-License-Identifier: BSD-3-Clause
#include "sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/box_holds.hpp"
#include "sim/failing_router.hpp"
#include "sim/final_checks.hpp"
#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

constexpr Duration kHorizon = seconds(7200);
constexpr Duration kLook = milliseconds(2);  // how often applications look at their connections

}  // namespace

World::World(const Case& c, const engine::Pools& pools, Trace trace, const std::vector<SentFrame>* imitated)
    : scene_(c, pools, std::move(trace), imitated),
      in_use_before_(scene_.buffers_in_use()),
      topology_(scene_),
      applications_(scene_, topology_),
      operators_(scene_, topology_) {
  plan_next_hop(scene_, topology_);
}

void World::step() {
  scene_.judge.time_is(scene_.now);
  scene_.timeline.run(scene_.now);
  topology_.poll();
  check_limits(scene_, topology_, applications_);
}

void World::run_to_end(std::uint64_t max_events) {
  Time next_look = scene_.start;
  while (!scene_.judge.violation()) {
    const Time event = next_event();
    const bool over = applications_.over();
    if (over && topology_.come_to_rest()) break;
    const Time next = over ? event : std::min(event, std::max(next_look, scene_.now));
    if (next == kNever) break;
    scene_.now = std::max(scene_.now, next);
    if (++scene_.totals.steps > max_events || scene_.now > applications_.newest_life() + kHorizon)
      return report_no_end(scene_, topology_, applications_);
    step();
    if (scene_.now < next_look) continue;
    applications_.look();
    // Often at first, then rarely: patient requesters and closing boxes take seconds.
    const Time newest = applications_.newest_life();
    next_look = scene_.now + std::max<Duration>(kLook, (scene_.now - std::min(scene_.now, newest)) / 64);
    if (applications_.waiting()) next_look = std::max(next_look, newest);
  }
}

Result World::run(std::uint64_t max_events) {
  run_to_end(max_events);
  if (!scene_.judge.violation()) check_end(scene_, topology_, applications_, operators_);
  Result result;
  result.lasted = scene_.now - scene_.start;
  result.deliveries = deliveries(scene_, applications_);
  for (const link::Way way : {link::Way::a_to_b, link::Way::b_to_a})
    result.wan_frames[static_cast<std::size_t>(way)] = topology_.wan_frames(way);
  if (is_attacked(scene_.plan)) note_attack(result);
  topology_.dismantle();
  const std::uint64_t in_use = scene_.buffers_in_use();
  if (!scene_.judge.violation() && in_use != in_use_before_)
    scene_.judge.report(Rule::bounded, fmt::format("{} buffers in use before, {} after", in_use_before_, in_use),
                        scene_.now);
  result.violation = scene_.judge.violation();
  result.totals = scene_.totals;
  return result;
}

void World::note_attack(Result& result) const {
  result.attack_frames = topology_.attack_frames();
  for (unsigned b = 0; b < 2; ++b) {
    const Box& box = topology_.box(b);
    if (!box.running()) continue;
    result.holds[b] = holdings_of(box);
    result.drained[b] = operators_.drained(b);
  }
  const std::uint64_t in_use = scene_.buffers_in_use();
  result.buffers_held = in_use - std::min(in_use, in_use_before_);
}

const Requester& World::requester(unsigned host, unsigned connection) const {
  return applications_.newest()[connection]->qp[host]->requester();
}

const Responder& World::responder(unsigned host, unsigned connection) const {
  return applications_.newest()[connection]->qp[host]->responder();
}

}  // namespace longhaul::sim
