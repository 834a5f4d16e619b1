// SPDX-License-Identifier: BSD-3-Clause
// The engine's part in selective repeat: what the near box and the far box of a pair do, beside custody. Requests:
// `repairs` and `far`; answers: `order` and `copies`.
#pragma once

#include "engine/peer_link.hpp"
#include "relay/answer_copies.hpp"
#include "relay/answer_order.hpp"
#include "relay/far_part.hpp"
#include "relay/repairs.hpp"

namespace longhaul::engine {

struct Peering {
  /// `Outlets`: all that the four parts need.
  template <typename Outlets>
  Peering(custody::NearPart& near, Counters& counters, std::uint32_t connections, Outlets& outlets, PeerLink& its_link,
          unsigned its_workers)
      : link(its_link),
        workers(its_workers),
        repairs(near, counters, outlets, its_workers),
        order(connections, outlets),
        copies(connections, relay::FarPart::most_held(near.budget().large_mbufs_limit), counters, outlets),
        far(connections, relay::FarPart::most_held(near.budget().large_mbufs_limit), copies, counters, outlets) {}

  PeerLink& link;
  unsigned workers;  ///< of the box
  relay::Repairs repairs;
  relay::AnswerOrder order;
  relay::AnswerCopies copies;
  relay::FarPart far;
};

}  // namespace longhaul::engine
