// SPDX-License-Identifier: BSD-3-Clause
// What a run of so many messages yields, by formula: what predict() leaves out. It explains where a simulation, or a
// measurement, differs from predict().
#pragma once

#include <cstdint>

#include "plan/scenario.hpp"

namespace longhaul::plan {

struct RunPrediction {
  /// Payload, bits per second, of a run without end: what waits for a completion waits for the line, too. With
  /// completions in groups, for all messages of a group.
  double steady = 0;
  /// Of this run: the answer of its last message takes a round trip during which nothing is sent.
  double run = 0;
};

/// Each QP sends `messages`. No losses.
RunPrediction predict_run(const Scenario& scenario, std::uint64_t messages);

}  // namespace longhaul::plan
