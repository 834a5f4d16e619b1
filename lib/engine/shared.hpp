// SPDX-License-Identifier: BSD-3-Clause
// What the engines of a box's workers tell each other.
#pragma once

#include <deque>

#include "engine/next_hop_news.hpp"
#include "engine/unknown_requests.hpp"

namespace longhaul::engine {

struct Shared {
  NextHopNews next_hops;
  UnknownRequests unknown_requests;
  /// Requests that name the responder of a known connection but may be another's: one table for each engine that
  /// shares, which alone writes it. All tables are there before the first frame.
  std::deque<UnknownRequests> contested_requests;
  /// Requests that pass for a known connection's, though nothing has shown lately that it lives on.
  UnknownRequests presumed_requests;
};

}  // namespace longhaul::engine
