// SPDX-License-Identifier: BSD-3-Clause
// Signals as flags that a worker looks at between bursts.
#pragma once

#include <atomic>

namespace longhaul::app {

/// What a loop is asked to do from outside, by signals or by a test.
struct Requests {
  std::atomic<int> stops{0};        ///< 1: drain, then stop; more: stop at once
  std::atomic<bool> report{false};  ///< write the statistics now; the loop clears it
  std::atomic<bool> reload{false};  ///< read the configuration again; the reader clears it
};

/// The process's requests. SIGTERM and SIGINT count as stops, SIGUSR1 asks for a report, SIGPIPE is ignored. The first
/// call installs the handlers.
Requests& requests_by_signal();
/// From now on SIGHUP asks for a reload. Do not call it if there is nothing to reload: SIGHUP then ends the process
/// when its terminal closes.
void reload_by_signal();

}  // namespace longhaul::app
