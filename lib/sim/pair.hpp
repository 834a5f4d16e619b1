// SPDX-License-Identifier: BSD-3-Clause
// One world twice: with its boxes and without. Every connection that survives without boxes must survive with them, and
// must not take much longer.
//
// Time counts from a connection's first packet until its responder has accepted the last byte. It does not count until
// completion, because a box brings completion forward. A connection is worse off if it needs more than 1.05 times what
// it needs without boxes, plus one round trip, plus one timeout of its requester if the case says that something goes
// wrong. It may claim only its fair share of the link: without boxes chance gives one of several hosts that flood a
// link nearly all of it. Where the link drops frames for want of room, chance also decides who survives. Then as many
// must survive, and the last of them must be done as early. Worlds with chance are compared with others
// (sim/pair_chance.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "sim/case.hpp"
#include "sim/world.hpp"

namespace longhaul::sim {

inline constexpr double kMost = 1.05;

struct Pair {
  Result without;
  Result with;
};

/// `c` without its boxes, but with the delay that their workers add to each frame.
Case plain(Case c);
Result run_world(const Case& c, bool with_boxes, const engine::Pools& pools);
Pair run_pair(const Case& c, const engine::Pools& pools);

/// The time that the smallest frame of this world takes on the long link, without line overhead; 0: no rate limit.
Duration least_frame_time(const Case& c);

/// Why this world may be worse with boxes, in words; empty: it must not be.
std::string_view excepted(const Case& c);

/// Without boxes something is lost for want of room. Then all connections are judged as one.
bool is_contested(const Pair& pair);

/// The outcome of one connection and direction, or of all together.
struct Fate {
  std::string of;
  std::size_t lost = 0;       ///< connections that died or were never delivered
  std::size_t delivered = 0;  ///< connections whose responder has accepted all
  double took = 0;            ///< seconds until the last of these was delivered
};
std::vector<Fate> fates_of(const Result& result, bool together);

/// Seconds that a connection needs with its fair share of the link, beside all others and the load; 0: it is alone.
double fair_time(const Case& c);
/// Seconds allowed on top of 1.05 times the time without boxes.
double allowance(const Case& c);

/// What is worse off with boxes, in words, by the rule for worlds without chance: a connection and direction, or all.
std::vector<std::string> worse_off(const Case& c, const Pair& pair);

}  // namespace longhaul::sim
