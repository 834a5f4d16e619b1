// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan simulate`: the questions of `throughput`, answered by the testbed and compared with the formula.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/pools.hpp"
#include "plan/plot.hpp"
#include "plan/simulate.hpp"
#include "plan/table.hpp"
#include "plan/throughput.hpp"

namespace longhaul::plan {

/// The keys of what can be simulated: `alone` is a pair of boxes that do not talk, `pair` one that repairs together.
/// The formulas, which know no loss, have no such difference.
std::vector<std::string> simulated_ways();

struct SimulationQuestion {
  ThroughputQuestion throughput;
  std::vector<std::string> ways;  ///< of simulated_ways()
  std::uint64_t messages = 0;     ///< of each QP; 0: usual_messages()
  std::uint32_t loss_ppm = 0;
  std::uint64_t seed = 1;
};

/// One of the runs that answer a question.
struct SimulatedPoint {
  std::string way;
  Run run;
  Simulation simulation;
};

/// The runs, not executed yet. Throws std::invalid_argument for an unknown way.
std::vector<SimulatedPoint> points_of(const SimulationQuestion& question);

/// Buffers that are enough for each of the runs.
engine::PoolPlan pools_for(const std::vector<SimulatedPoint>& points);

/// Why the simulation differs by more than 5 % from predict(); empty when it does not. "not explained" when the project
/// knows of no reason.
std::string reason_of(const SimulatedPoint& point);

Report report(const SimulationQuestion& question, const std::vector<SimulatedPoint>& points);
/// Like plot(ThroughputQuestion): the simulated curves, with the calculated ones beside them.
Plot plot(const SimulationQuestion& question, const std::vector<SimulatedPoint>& points);

}  // namespace longhaul::plan
