// SPDX-License-Identifier: BSD-3-Clause
// Rule 9: what one tenant does costs another at most its share. A world with an attack runs again with the attack's
// frames replaced by harmless UDP of the same sizes at the same times, so that both take the same of the line. What the
// victim has less of in the first run, the attack has taken: throughput, the delay of its completions (which
// pseudo-ACKs make short), its life; or an operator's patience, or buffers for good.
//
// Some frames harm without any box too, as a forged NAK that guesses right. So if something seems unfair, the same two
// worlds run without boxes, and what is as unfair there is no box's doing.
#pragma once

#include <string>
#include <vector>

#include "engine/pools.hpp"
#include "sim/case.hpp"
#include "sim/result.hpp"

namespace longhaul::sim {

/// What the victim must keep of its throughput; how many times as long its completions may take, at the 99th
/// percentile; and what it may lose in any case.
inline constexpr double kLeastThroughput = 0.8;
inline constexpr double kMostDelay = 2;
inline constexpr Duration kDelayMargin = microseconds(100);

/// Messages at the start of a connection whose delays do not count: it is confirmed, or learned, meanwhile.
inline constexpr double kSettling = 1.0 / 3;

struct Fairness {
  Result attacked;
  Result harmless;
  /// Who lost what, in words; empty: the attack was fair.
  std::vector<std::string> unfair;
};

/// What an attack costs the connection that it costs most.
struct Cost {
  double throughput = 1;  ///< the share of it that the connection keeps; 0: it dies
  double delay = 1;       ///< times as long that its completions take, at the 99th percentile
};

/// Beyond the limits above only where it is the boxes' doing.
Cost cost_of(const Case& c, const Fairness& fairness);

/// What the victim has less of in `attacked` than in `harmless`.
std::vector<std::string> taken(const Case& c, const Result& attacked, const Result& harmless);

/// Runs the world of `c`, which has an attack, and its counterparts.
Fairness run_attack(const Case& c, const engine::Pools& pools);

/// The 99th percentile of the delays after settling; 0 if there are none.
Duration settled_delay(const std::vector<Duration>& delays);

}  // namespace longhaul::sim
