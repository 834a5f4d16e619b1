// SPDX-License-Identifier: BSD-3-Clause
#include "sim/pair_chance.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace longhaul::sim {

namespace {

struct Samples {
  Sample lost;
  Sample took;
  Sample fair;  ///< what it took, or its fair share if that is more
};

void add(std::vector<Samples>& all, const std::vector<Fate>& fates, double fair) {
  for (std::size_t i = 0; i < all.size() && i < fates.size(); ++i) {
    all[i].lost.add(static_cast<double>(fates[i].lost));
    if (fates[i].delivered == 0) continue;
    all[i].took.add(fates[i].took);
    all[i].fair.add(std::max(fates[i].took, fair));
  }
}

}  // namespace

std::optional<double> ratio(const Fate& fate, const Fate& other) {
  if (fate.lost != other.lost || fate.delivered == 0 || other.delivered == 0) return std::nullopt;
  return fate.took / other.took;
}

ChancePair run_chance_pair(const Case& c, const Run& run) {
  Case other = c;
  other.luck = c.luck + 1;
  const Pair pair{run(c, false), run(c, true)};
  const bool together = is_contested(pair);
  const auto without = fates_of(pair.without, together);
  const auto compare = [&](const Result& result) {
    Comparison comparison;
    const auto fates = fates_of(result, together);
    for (std::size_t i = 0; i < fates.size() && i < without.size(); ++i) {
      if (fates[i].lost > without[i].lost) ++comparison.lost_more;
      if (const auto found = ratio(fates[i], without[i])) comparison.ratios.push_back(*found);
    }
    return comparison;
  };
  return {compare(pair.with), compare(run(other, false))};
}

std::vector<std::string> worse_by_chance(const Case& c, const Run& run, unsigned draws) {
  if (!excepted(c).empty()) return {};
  std::vector<Pair> pairs;
  for (unsigned n = 0; n < draws; ++n) {
    Case drawn = c;
    drawn.luck = c.luck + 2 + n;
    pairs.push_back({run(drawn, false), run(drawn, true)});
  }
  const bool together = std::ranges::any_of(pairs, is_contested);
  const auto names = fates_of(pairs[0].without, together);
  const double fair = fair_time(c), more = allowance(c);
  std::vector<Samples> without(names.size()), with(names.size());
  for (const Pair& pair : pairs) {
    add(without, fates_of(pair.without, together), fair);
    add(with, fates_of(pair.with, together), fair);
  }
  std::vector<std::string> worse;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_greater(with[i].lost, without[i].lost, 1, 0))
      worse.push_back(fmt::format("{}: {:.2f} lost of {} with boxes, {:.2f} without, on average", names[i].of,
                                  with[i].lost.mean(), together ? c.connections : 1, without[i].lost.mean()));
    else if (is_greater(with[i].took, without[i].fair, kMost, more))
      worse.push_back(fmt::format("{} took {:.6f} s with boxes, {:.6f} s without, on average of {}", names[i].of,
                                  with[i].took.mean(), without[i].took.mean(), draws));
  }
  return worse;
}

Case nudged(Case c, unsigned n) {
  c.wan_delay_ns += n * (131 + c.wan_delay_us * 1000 / 3200);
  for (HostPlan* host : {&c.a, &c.b}) host->load_at_us += n * 37;
  return c;
}

std::vector<std::string> worse_when_nudged(const Case& c, const Run& run) {
  return worse_by_chance(c, [&](const Case& drawn, bool with_boxes) {
    return run(nudged(c, static_cast<unsigned>(drawn.luck - c.luck)), with_boxes);
  });
}

bool is_bound_by_window(const Case& c) {
  if (c.wan_mbps == 0) return true;
  const auto bits_under_way = [](const HostPlan& host) {
    return std::min(host.depth, host.messages) * host.max_bytes * 8;
  };
  const Number bits = c.connections * std::max(bits_under_way(c.a), bits_under_way(c.b));
  // Half of what a round trip has room for: responses and answers take time as well.
  return bits < c.wan_mbps * c.wan_delay_us && std::max(c.a.messages / c.a.depth, c.b.messages / c.b.depth) >= 4;
}

}  // namespace longhaul::sim
