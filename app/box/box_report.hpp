// SPDX-License-Identifier: BSD-3-Clause
// What a box counted, as a readable table and as a flat JSON object.
#pragma once

#include <span>
#include <string>

#include "app/box/orders.hpp"
#include "app/command/json_file.hpp"
#include "metrics/counter_set.hpp"
#include "metrics/histogram.hpp"

namespace longhaul::app {

/// What one worker or several counted. It is a copy, so that it can be read while they go on.
struct BoxReport {
  Counters counters;
  std::uint64_t custody_packets = 0;
  std::uint64_t custody_bytes = 0;
  std::uint64_t waiting_frames = 0;  ///< Engine::waiting_frames(), or not_gone() while the worker runs
  engine::LinkState link;
  bool bypass = false;
  bool draining = false;
  Activity activity;
  metrics::Histogram pseudo_ack_delay;
  metrics::Histogram wan_rtt;

  BoxReport() = default;
  /// Call in the thread that runs the worker.
  BoxReport(const box::Worker& worker, const Activity& activity);
  BoxReport& operator+=(const BoxReport& more);
  /// Frames that came in and, by the counters, neither left nor were dropped. The engine would have to walk its tables
  /// for an exact number.
  std::uint64_t not_gone() const;
};

/// All counters of a box by name, 0 included, with parse_* and the delays (`*_ns_p50`, `_p99`, `_p99_9`, `_max`,
/// `_count`).
void add_engine(Json& out, const BoxReport& report);
/// One worker's part: the counters that are not zero, and custody.
Json worker_part(const BoxReport& report);
/// A delay's quantiles and a row for each power of two of microseconds; empty if it has no values.
std::string histogram_table(std::string_view name, const metrics::Histogram& histogram);
/// The counters that are not zero, with what they mean, and the delays, as lines of text.
std::string engine_table(const BoxReport& report);
/// A line for each worker: what came in, what it handed over, what it dropped.
std::string workers_table(std::span<const BoxReport> workers);
}  // namespace longhaul::app
