// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/pair.hpp"
#include "sim/plans.hpp"
#include "sim/world.hpp"

namespace longhaul::sim {

namespace {

// Free buffers that a worker keeps at hand, of four pools (custody::BufferStash).
constexpr std::uint64_t kStashes = std::uint64_t{4} * 32;

constexpr Duration kDrainMargin = milliseconds(5);

// Applications look at their connections every few milliseconds.
constexpr Duration kLook = milliseconds(20);

double milli(Duration time) { return static_cast<double>(time) / 1e6; }

/// Where a connection settles within a round trip or two, either of these may be lost.
Duration margin(const Case& c) { return 2 * round_trip(c) + kDelayMargin; }

/// Where a rate is shared, who comes waits for the turn of another pair of hosts: 9.5 KiB and a part of a frame (design
/// 5.5).
Duration turn_of_another(const Case& c) {
  constexpr Number kTurn = 9728;
  return c.wan_mbps == 0 ? 0 : (kTurn + c.attack.bytes) * 8 * 1000 / c.wan_mbps;
}

/// The share of its throughput that a connection keeps which took `harmless`, and now `attacked`.
double kept(const Case& c, Duration attacked, Duration harmless) {
  return attacked == 0 ? 1 : static_cast<double>(harmless + margin(c)) / static_cast<double>(attacked);
}

bool is_slower(const Case& c, Duration attacked, Duration harmless) {
  return kept(c, attacked, harmless) < kLeastThroughput;
}

void add_cost(const Case& c, const Delivery& attacked, const Delivery& harmless, Cost& cost) {
  if (harmless.died) return;
  if (attacked.died || (harmless.accepted && !attacked.accepted)) cost.throughput = 0;
  if (harmless.accepted) cost.throughput = std::min(cost.throughput, kept(c, attacked.took, harmless.took));
  if (harmless.completed_took != 0)
    cost.throughput = std::min(cost.throughput, kept(c, attacked.completed_took, harmless.completed_took));
  const Duration usual = settled_delay(harmless.delays) + kDelayMargin + turn_of_another(c);
  cost.delay = std::max(cost.delay, static_cast<double>(settled_delay(attacked.delays)) / static_cast<double>(usual));
}

void compare(const Case& c, const Delivery& attacked, const Delivery& harmless, std::vector<std::string>& all) {
  const std::string& flow = harmless.flow;
  if (harmless.died) return;
  if (attacked.died) return all.push_back(flow + " dies");
  if (harmless.accepted && !attacked.accepted) return all.push_back(flow + " is never delivered");
  if (harmless.completed_took != 0 && attacked.completed_took == 0)
    return all.push_back(flow + " never completes all of its work");
  if (harmless.accepted && is_slower(c, attacked.took, harmless.took))
    all.push_back(
        fmt::format("{} is delivered in {:.3f} ms, not {:.3f}", flow, milli(attacked.took), milli(harmless.took)));
  else if (harmless.completed_took != 0 && is_slower(c, attacked.completed_took, harmless.completed_took))
    all.push_back(fmt::format("{} completes in {:.3f} ms, not {:.3f}", flow, milli(attacked.completed_took),
                              milli(harmless.completed_took)));
  if (harmless.closed_in != 0 &&
      (attacked.closed_in == 0 || attacked.closed_in > 2 * harmless.closed_in + margin(c) + kLook))
    all.push_back(fmt::format("{} is closed in {:.3f} ms, not {:.3f}", flow, milli(attacked.closed_in),
                              milli(harmless.closed_in)));
  const Duration late = settled_delay(attacked.delays), usual = settled_delay(harmless.delays);
  if (static_cast<double>(late) >
      kMostDelay * static_cast<double>(usual) + static_cast<double>(kDelayMargin + turn_of_another(c)))
    all.push_back(fmt::format("{} has its completions after {:.3f} ms, not {:.3f} (99th percentile)", flow, milli(late),
                              milli(usual)));
}

}  // namespace

Duration settled_delay(const std::vector<Duration>& delays) {
  const auto first = static_cast<std::size_t>(static_cast<double>(delays.size()) * kSettling);
  std::vector<Duration> settled(delays.begin() + static_cast<std::ptrdiff_t>(first), delays.end());
  if (settled.empty()) return 0;
  const std::size_t place = settled.size() - 1 - settled.size() / 100;
  std::ranges::nth_element(settled, settled.begin() + static_cast<std::ptrdiff_t>(place));
  return settled[place];
}

std::vector<std::string> taken(const Case& c, const Result& attacked, const Result& harmless) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < std::min(attacked.deliveries.size(), harmless.deliveries.size()); ++i)
    compare(c, attacked.deliveries[i], harmless.deliveries[i], all);
  for (unsigned b = 0; b < 2; ++b) {
    const Duration usual = harmless.drained[b], took = attacked.drained[b];
    if (usual == 0) continue;
    if (took == 0)
      all.push_back(fmt::format("box {} is not drained of what nobody was promised", b));
    else if (took > 2 * usual + margin(c) + kDrainMargin)
      all.push_back(fmt::format("box {} is drained of what nobody was promised in {:.3f} ms, not {:.3f}", b,
                                milli(took), milli(usual)));
  }
  if (attacked.buffers_held > harmless.buffers_held + kStashes * (c.box_a.workers + c.box_b.workers))
    all.push_back(fmt::format("{} buffers are held at the end, not {}", attacked.buffers_held, harmless.buffers_held));
  return all;
}

Cost cost_of(const Case& c, const Fairness& fairness) {
  Cost cost;
  const auto &attacked = fairness.attacked.deliveries, &harmless = fairness.harmless.deliveries;
  for (std::size_t i = 0; i < std::min(attacked.size(), harmless.size()); ++i)
    add_cost(c, attacked[i], harmless[i], cost);
  if (!fairness.unfair.empty()) return cost;
  return {std::max(cost.throughput, kLeastThroughput), std::min(cost.delay, kMostDelay)};
}

Fairness run_attack(const Case& c, const engine::Pools& pools) {
  Fairness fairness;
  fairness.attacked = World(c, pools).run();
  fairness.harmless = World(c, pools, nullptr, &fairness.attacked.attack_frames).run();
  fairness.unfair = taken(c, fairness.attacked, fairness.harmless);
  if (fairness.unfair.empty()) return fairness;
  const Case bare = plain(c);
  const Result attacked = World(bare, pools).run();
  const Result harmless = World(bare, pools, nullptr, &attacked.attack_frames).run();
  const auto anyway = taken(bare, attacked, harmless);
  // Each begins with the name of the flow, which is all that the two have in common.
  const auto of = [](const std::string& text) { return text.substr(0, text.find(' ', text.find(' ') + 1)); };
  std::erase_if(fairness.unfair, [&](const std::string& text) {
    return std::ranges::any_of(anyway, [&](const std::string& other) { return of(other) == of(text); });
  });
  return fairness;
}

}  // namespace longhaul::sim
