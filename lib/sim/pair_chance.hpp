// SPDX-License-Identifier: BSD-3-Clause
// Worlds with chance, with their boxes and without: what one pair shows may be luck.
//
// So many pairs are judged together. Each world runs with boxes, without, and once more without, with other luck: this
// third run is the control. How much longer the first takes than the second is to be distributed as how much longer the
// third does. A pair beyond what nearly all controls show is run again, many times both ways with fresh luck, and is
// worse off only if the means tell so beyond doubt.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/pair.hpp"
#include "sim/samples.hpp"

namespace longhaul::sim {

/// How many times as long it took; nothing where one lost more connections than the other, or neither delivered.
std::optional<double> ratio(const Fate& fate, const Fate& other);

/// A run compared with one without boxes, fate by fate.
struct Comparison {
  std::vector<double> ratios;
  std::size_t lost_more = 0;  ///< fates in which more connections were lost than in the other run
};

struct ChancePair {
  Comparison with;
  Comparison control;  ///< of a run without boxes with other luck
};

/// Runs a case, without boxes if so asked.
using Run = std::function<Result(const Case& c, bool with_boxes)>;

ChancePair run_chance_pair(const Case& c, const Run& run);

/// What is worse off with boxes over this many draws of luck, in words.
std::vector<std::string> worse_by_chance(const Case& c, const Run& run, unsigned draws = 64);

/// One connection's depth, and not the link, is what its speed without boxes comes from.
bool is_bound_by_window(const Case& c);

}  // namespace longhaul::sim
