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

/// The ratio of their times. None if one lost more connections than the other, or if either delivered nothing.
std::optional<double> ratio(const Fate& fate, const Fate& other);

/// A run compared with one without boxes, fate by fate.
struct Comparison {
  std::vector<double> ratios;
  std::size_t lost_more = 0;  ///< fates in which more connections were lost than in the other run
};

struct ChancePair {
  Comparison with;
  Comparison control;  ///< of another run without boxes, with different luck
};

/// Runs a case, with boxes or without.
using Run = std::function<Result(const Case& c, bool with_boxes)>;

ChancePair run_chance_pair(const Case& c, const Run& run);

/// What is worse off with boxes over this many draws of luck, in words.
std::vector<std::string> worse_by_chance(const Case& c, const Run& run, unsigned draws = 64);

/// The `n`-th of 64 variants of a world without chance: its link is longer by up to a fiftieth of its delay and 9 us,
/// and foreign load comes up to 3 ms later.
Case nudged(Case c, unsigned n);

/// The same as worse_by_chance() for a world without chance, nudged for each draw.
std::vector<std::string> worse_when_nudged(const Case& c, const Run& run);

/// Without boxes a connection's speed is limited by its depth, not by the link.
bool is_bound_by_window(const Case& c);

}  // namespace longhaul::sim
