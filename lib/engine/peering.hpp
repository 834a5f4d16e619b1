// SPDX-License-Identifier: BSD-3-Clause
// The engine's part in selective repeat: what the near box and the far box of a pair do, beside custody.
#pragma once

#include "engine/peer_link.hpp"
#include "relay/far_part.hpp"
#include "relay/repairs.hpp"

namespace longhaul::engine {

struct Peering {
  Peering(custody::NearPart& near, Counters& counters, std::uint32_t connections, relay::FarOutlet& far_outlet,
          relay::RepairsOutlet& near_outlet, PeerLink& its_link)
      : link(its_link),
        repairs(near, counters, near_outlet),
        far(connections, relay::FarPart::most_held(near.budget().large_mbufs_limit), counters, far_outlet) {}

  PeerLink& link;
  relay::Repairs repairs;
  relay::FarPart far;
};

}  // namespace longhaul::engine
