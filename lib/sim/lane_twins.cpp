// SPDX-License-Identifier: BSD-3-Clause
#include "sim/lane_twins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/frames.hpp"
#include "sim/world.hpp"

namespace longhaul::sim {

namespace {

/// What could be seen of a world.
struct Seen {
  struct Event {
    Time at;
    const char* where;
    std::uint64_t frame;

    bool operator==(const Event&) const = default;
  };
  std::vector<Event> events;
  std::array<Counters, 2> counters;  ///< by box
  Result result;
};

Case with_lane(Case c, bool lane) {
  c.lane = lane ? 1 : 0;
  return c;
}

std::string describe(const Result& result) {
  std::string text = fmt::format("{} after {} ns", result.violation ? result.violation->text : "held", result.lasted);
  for (const Delivery& delivery : result.deliveries)
    text += fmt::format("; {} {} {} {}", delivery.flow, delivery.died, delivery.accepted, delivery.took);
  result.totals.each([&](const char* name, std::uint64_t value) { text += fmt::format("; {} {}", name, value); });
  return text;
}

Seen look_at(const Case& c, const engine::Pools& pools) {
  Seen seen;
  World world(c, pools, [&seen](Time at, const char* where, const View& view) {
    seen.events.push_back({at, where, fingerprint(view.bytes)});
  });
  seen.result = world.run();
  for (unsigned box = 0; box < seen.counters.size(); ++box)
    for (std::size_t i = 0; i < metrics::kCounterCount; ++i)
      seen.counters[box].events[i] = world.count(box, static_cast<Counter>(i));
  return seen;
}

/// The nth frame that a world shows.
std::string frame_at(const Case& c, const engine::Pools& pools, std::size_t n) {
  std::string text = "no frame";
  World world(c, pools, [&, i = std::size_t{0}](Time at, const char* where, const View& view) mutable {
    if (i++ == n) text = fmt::format("{} ns {} {}", at, where, describe(view));
  });
  world.run();
  return text;
}

std::string first_difference(const Case& lane, const Seen& with, const Case& general, const Seen& without,
                             const engine::Pools& pools) {
  const auto [first, second] = std::ranges::mismatch(with.events, without.events);
  if (first != with.events.end() || second != without.events.end()) {
    const auto n = static_cast<std::size_t>(first - with.events.begin());
    return fmt::format("frame {}: {}; in general: {}", n, frame_at(lane, pools, n), frame_at(general, pools, n));
  }
  for (unsigned box = 0; box < with.counters.size(); ++box)
    for (std::size_t i = 0; i < metrics::kCounterCount; ++i)
      if (const auto counter = static_cast<Counter>(i);
          counter != Counter::lane_frames && with.counters[box][counter] != without.counters[box][counter])
        return fmt::format("box {}, {}: {}; in general: {}", box, metrics::kCounterInfo[i].name,
                           with.counters[box][counter], without.counters[box][counter]);
  const std::string outcome = describe(with.result);
  const std::string other = describe(without.result);
  return outcome == other ? "" : outcome + "\nin general: " + other;
}

}  // namespace

LaneTwins run_lane_twins(const Case& c, const engine::Pools& pools) {
  const Case lane = with_lane(c, true);
  const Case general = with_lane(c, false);
  Seen with = look_at(lane, pools);
  const Seen without = look_at(general, pools);
  LaneTwins twins;
  twins.difference = first_difference(lane, with, general, without, pools);
  for (const Counters& counters : with.counters) twins.lane_frames += counters[Counter::lane_frames];
  twins.with = std::move(with.result);
  return twins;
}

}  // namespace longhaul::sim
