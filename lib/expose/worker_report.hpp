// SPDX-License-Identifier: BSD-3-Clause
// What one worker shows of itself, or several together: plain values, so that they can be read while the worker goes
// on.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.hpp"
#include "box/worker.hpp"
#include "engine/link_state.hpp"
#include "metrics/counter_set.hpp"
#include "metrics/histogram.hpp"
#include "peer/report.hpp"

namespace longhaul::expose {

/// What a worker did with its time, by its own counters.
struct Activity {
  std::uint64_t rounds = 0;
  Duration ran = 0;   ///< since the loop began, pauses not counted
  Duration busy = 0;  ///< time of rounds in which frames came
};

struct WorkerReport {
  Counters counters;
  std::uint64_t custody_packets = 0;
  std::uint64_t custody_bytes = 0;   ///< frame bytes
  std::uint64_t waiting_frames = 0;  ///< Engine::waiting_frames(), or not_gone() while the worker runs
  engine::LinkState link;
  bool bypass = false;
  bool draining = false;
  Activity activity;
  metrics::Histogram pseudo_ack_delay;     ///< nanoseconds
  metrics::Histogram wan_rtt;              ///< nanoseconds
  std::optional<peer::PeersReport> peers;  ///< of the worker that has them, and of the total

  WorkerReport() = default;
  /// Call in the thread that runs the worker. `waiting_frames` is not_gone().
  WorkerReport(const box::Worker& worker, const Activity& its);
  WorkerReport& operator+=(const WorkerReport& more);

  std::uint64_t received_frames() const { return counters[Counter::frames_host] + counters[Counter::frames_wan]; }
  /// Frames that came in and, by the counters, neither left nor were dropped. The engine would have to walk its tables
  /// for an exact number.
  std::uint64_t not_gone() const;
};

}  // namespace longhaul::expose
