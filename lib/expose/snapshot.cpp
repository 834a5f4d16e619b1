// SPDX-License-Identifier: BSD-3-Clause
#include "expose/snapshot.hpp"

#include <algorithm>

namespace longhaul::expose {

State Snapshot::state() const {
  if (!std::all_of(workers.begin(), workers.end(), [](const WorkerState& worker) { return worker.alive; }))
    return State::silent;
  if (stopping) return State::stopping;
  if (total.bypass) return State::bypass;
  return total.draining ? State::draining : State::running;
}

}  // namespace longhaul::expose
