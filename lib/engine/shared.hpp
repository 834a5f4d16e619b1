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
  /// Those that name the responder of a connection that one worker knows, and may be another's: one for each engine
  /// that shares. Complete before the first frame.
  std::deque<UnknownRequests> contested_requests;
};

}  // namespace longhaul::engine
