// SPDX-License-Identifier: BSD-3-Clause
// What the engines of a box's workers tell each other.
#pragma once

#include "engine/next_hop_news.hpp"
#include "engine/unknown_requests.hpp"

namespace longhaul::engine {

struct Shared {
  NextHopNews next_hops;
  UnknownRequests unknown_requests;
};

}  // namespace longhaul::engine
