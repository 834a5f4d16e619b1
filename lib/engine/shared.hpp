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
  /// Requests that name the responder of a known connection but may belong to another one. Each engine has a table,
  /// which it alone writes. All tables are there before the first frame.
  std::deque<UnknownRequests> contested_requests;
  /// Requests that are taken for a known connection's, although nothing has shown lately that its life goes on.
  UnknownRequests presumed_requests;
};

}  // namespace longhaul::engine
