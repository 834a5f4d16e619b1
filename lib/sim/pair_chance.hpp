// SPDX-License-Identifier: BSD-3-Clause
// Worlds with chance, with their boxes and without. A single pair of runs proves nothing: the difference may be luck.
//
// So pairs are judged in large numbers. Each world runs three times: with boxes, without boxes, and without boxes again
// but with different luck. The third run is the control. Times with boxes, relative to the second run, should be
// distributed like those of the control. A pair beyond nearly all controls is run again many times, with fresh luck,
// both with boxes and without. It counts as worse off only if the means differ beyond doubt.
//
// Where a link drops frames for want of room, a world without chance has luck of its own: a microsecond decides whose
// frame finds room. Such a world is run many times as well, each time nudged a little.
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

/// A world without chance, its link up to a fiftieth of its delay and 9 us longer, foreign load up to 3 ms later:
/// `n` of 64.
Case nudged(Case c, unsigned n);

/// The same as worse_by_chance() for a world without chance, nudged for each draw.
std::vector<std::string> worse_when_nudged(const Case& c, const Run& run);

/// One connection's depth, and not the link, is what its speed without boxes comes from.
bool is_bound_by_window(const Case& c);

}  // namespace longhaul::sim
