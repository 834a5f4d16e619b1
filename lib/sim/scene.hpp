// SPDX-License-Identifier: BSD-3-Clause
// What all parts of a world share: its case, the time, the judge, the totals.
#pragma once

#include <functional>

#include "engine/engine.hpp"
#include "sim/case.hpp"
#include "sim/judge.hpp"
#include "sim/result.hpp"
#include "sim/timeline.hpp"
#include "sim/totals.hpp"

namespace longhaul::sim {

/// Hears of each frame: when, where, what.
using Trace = std::function<void(Time since_start, const char* where, const View& frame)>;

struct Scene {
  Scene(const Case& its_case, const engine::Pools& its_pools, Trace its_trace,
        const std::vector<SentFrame>* its_imitated = nullptr);
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  /// The time after `us` microseconds of the world.
  Time at(Number us) const { return start + microseconds(us); }
  /// In all pools.
  std::uint64_t buffers_in_use() const;

  const Case plan;
  const engine::Pools pools;
  const Trace trace;
  const std::vector<SentFrame>* const imitated;  ///< in place of the attack: harmless frames like these
  const Time start;
  Time now;
  Judge judge;
  Totals totals;
  Timeline timeline;
};

}  // namespace longhaul::sim
