// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

#include "link/counters.hpp"
#include "metrics/counter_set.hpp"

namespace longhaul::sim {

/// What happened to frames, and what the boxes did, summed over one world or many.
struct Totals {
  std::uint64_t frames = 0;
  std::uint64_t lost = 0, burst_lost = 0, outage_lost = 0, queue_dropped = 0;
  std::uint64_t duplicated = 0, reordered = 0, corrupted = 0, scripted = 0, forged = 0;
  std::uint64_t messages = 0, failed_requesters = 0;
  std::uint64_t pseudo_acks = 0, cnps_made = 0, absorbed_cnps = 0, pseudo_naks = 0, resends = 0, absorbed = 0,
                fatal_naks = 0, flows_failed = 0;
  std::uint64_t unconfirmed = 0, dreqs_held = 0, refused_custody = 0, rejoined = 0, crashes = 0;
  std::uint64_t doubted = 0, resumed = 0, began_again = 0, unconfirmed_in_doubt = 0;
  std::uint64_t pauses = 0, ring_lost = 0;
  std::uint64_t handed_over = 0, handed_home = 0, readdressed = 0;
  std::uint64_t bound = 0, repairs = 0, far_gaps = 0, copies_sent = 0, host_naks = 0, answers_again = 0,
                answers_waited = 0;
  std::uint64_t steps = 0;

  void add(const Totals& other);
  /// Adds what the engines of a box have counted.
  void add(const Counters& counters);
  /// Adds what one direction of a link has counted.
  void add(const link::Counters& counters);
  /// Calls visit(name, value) for each.
  void each(const std::function<void(const char*, std::uint64_t)>& visit) const;
};

}  // namespace longhaul::sim
