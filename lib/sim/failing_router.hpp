// SPDX-License-Identifier: BSD-3-Clause
// The router that takes a host's frames over the long link dies, and another takes its place (Case::next_hop_*). The
// host knows the new router's MAC address at once. Its box learns it from the host's frames, and from announcements.
#pragma once

#include "sim/scene.hpp"
#include "sim/topology.hpp"

struct rte_mbuf;

namespace longhaul::sim {

/// `host` must send to the new router.
bool next_hop_is_dead(const Scene& scene, unsigned host);
/// A frame of `host` at the far end of the long link is lost, because it is addressed to the dead router.
bool lost_at_next_hop(const Scene& scene, unsigned host, const rte_mbuf* frame);
/// The frame as the new router passes it on, to the far host's address. Takes ownership of the frame.
rte_mbuf* from_new_next_hop(const Scene& scene, unsigned host, rte_mbuf* frame);

/// Schedules what the host's box hears of both routers.
void plan_next_hop(Scene& scene, Topology& topology);

}  // namespace longhaul::sim
