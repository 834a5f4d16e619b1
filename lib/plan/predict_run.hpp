// SPDX-License-Identifier: BSD-3-Clause
// The throughput of a run with this many messages, by formula, with effects that predict() leaves out. It explains
// where a simulation or a measurement differs from predict().
#pragma once

#include <cstdint>

#include "plan/scenario.hpp"

namespace longhaul::plan {

struct RunPrediction {
  /// Payload, bits per second, of a run without end. A message that waits for a completion waits for the line as well.
  /// With moderation it waits for the line to send a whole group.
  double steady = 0;
  /// Payload, bits per second, of this run: nothing is sent in the last round trip, while the last answer is on its
  /// way.
  double run = 0;
};

/// Each QP sends `messages`. No losses.
RunPrediction predict_run(const Scenario& scenario, std::uint64_t messages);

}  // namespace longhaul::plan
