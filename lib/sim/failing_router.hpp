// SPDX-License-Identifier: BSD-3-Clause
// A router that takes a host's frames over the long link dies, and another takes its place (Case::next_hop_*). The host
// knows the new one's MAC address at once. Its box learns it from what the host sends, and from what is announced.
#pragma once

#include "sim/scene.hpp"
#include "sim/topology.hpp"

struct rte_mbuf;

namespace longhaul::sim {

/// `host` has to send to the new router.
bool next_hop_is_dead(const Scene& scene, unsigned host);
/// A frame of `host` arrives at the far end of the long link: it is addressed to the dead router.
bool lost_at_next_hop(const Scene& scene, unsigned host, const rte_mbuf* frame);
/// Such a frame as the new router passes it on, to the far host's address. Takes over the frame.
rte_mbuf* from_new_next_hop(const Scene& scene, unsigned host, rte_mbuf* frame);

/// Appoints what the host's box hears of both routers.
void plan_next_hop(Scene& scene, Topology& topology);

}  // namespace longhaul::sim
