// SPDX-License-Identifier: BSD-3-Clause
// The throughput of a scenario in the virtual-time testbed: modelled hosts and link, the real engine in the boxes, and
// the judge of the random worlds, which sees each frame and each byte.
#pragma once

#include <cstdint>
#include <string>

#include "engine/pools.hpp"
#include "plan/scenario.hpp"

namespace longhaul::plan {

/// One run of a transfer tool (perftest's *_bw) in the testbed.
struct Run {
  Scenario scenario;
  std::uint64_t messages = 5000;  ///< of each QP
  std::uint32_t loss_ppm = 0;     ///< frames lost in 1,000,000 on the long haul, each way
  std::uint64_t seed = 1;
  bool peers = false;  ///< the boxes are peers, and send again only what is lost (docs/design.md, section 7)
};

struct Simulation {
  double messages_per_second = 0;  ///< of all QPs, as perftest counts: from the first post to the last completion
  double bits_per_second = 0;      ///< of payload
  Duration lasted = 0;             ///< from the first post to the last completion
  std::uint64_t pseudo_acks = 0;   ///< of the near box
  std::uint64_t resends = 0;       ///< packets, of the boxes
  std::uint64_t repeated = 0;      ///< packets, of the NICs: go-back-N
  std::uint64_t lost = 0;          ///< frames, on the long haul
  std::uint64_t events = 0;        ///< in the testbed
  std::string world;               ///< the case's text, for `soak --case --trace` if that has enough buffers
};

/// Enough messages for the start-up not to matter: three round trips of what the formula predicts, at least 5,000 (what
/// perftest sends). Limited to some seconds of processor time.
std::uint64_t usual_messages(const Scenario& scenario);

/// The buffers that a run needs. Throws std::invalid_argument when the scenario is too large for the testbed; the text
/// says what is too much, and how much would fit.
engine::PoolPlan pools_for(const Run& run);

/// Throws std::runtime_error when the run breaks a rule of docs/design.md (then the engine or the testbed has a
/// defect), and when it does not end. `pools` must be at least as large as pools_for() says.
Simulation simulate(const Run& run, const engine::Pools& pools);

}  // namespace longhaul::plan
