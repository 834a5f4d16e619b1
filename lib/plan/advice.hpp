// SPDX-License-Identifier: BSD-3-Clause
// What would help a scenario, derived from its limits.
#pragma once

#include <string>
#include <string_view>

#include "plan/scenario.hpp"

namespace longhaul::plan {

/// The ways to run one application: as it is, with deeper queues, with a pair of boxes around the long haul.
struct Ways {
  Scenario standard;
  Scenario deep;
  Scenario pair;
};

/// Each way, for tables and plots.
struct Way {
  std::string_view key;   ///< for programs
  std::string_view name;  ///< for people
  Scenario Ways::*scenario;
};
inline constexpr Way kWays[] = {
    {"standard", "standard", &Ways::standard}, {"deep", "deep queues", &Ways::deep}, {"pair", "pair", &Ways::pair}};

/// `scenario` without its pair; the same with the depths of `deep`; with its pair and unchanged hosts.
Ways ways(const Scenario& scenario, const Hosts& deep);

/// A gain below this factor is within the formulas' error.
inline constexpr double kWorthwhile = 1.05;

/// One sentence.
std::string advise(const Ways& ways);

/// The most workers that a box has (`cores` of its configuration).
inline constexpr std::uint64_t kMostWorkers = 32;

/// Workers of a box that take in what the line carries of these messages, at the pair's time for a frame.
std::uint64_t workers_to_fill(const Scenario& scenario);

/// What takes the limit of the box away: "4 workers and 4 QPs (now 1 and 1) would carry the line".
std::string box_remedy(const Scenario& scenario);
/// The same for `workers` that are needed and `qps` connections.
std::string box_remedy(std::uint64_t workers, const Pair& pair, std::uint32_t qps);

/// What fills the line without a pair: "2991 work requests a QP, posted and in the NIC (now 128), or 24 QPs (now 1), or
/// messages of 128 KiB". More depth does not help READ.
std::string alternatives(const Scenario& standard, bool depth_helps);

/// The smallest message size that fills the line with this many outstanding: a power of two, not below the scenario's
/// message size. 0: none up to 2^31, the largest message there is.
std::uint64_t message_to_fill(const Scenario& scenario);
/// QPs that fill the line with this many outstanding on each.
std::uint64_t qps_to_fill(const Scenario& scenario);

}  // namespace longhaul::plan
