// SPDX-License-Identifier: BSD-3-Clause
#include "sim/failing_router.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>

#include "sim/neighbours.hpp"
#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

wire::MacAddress& destination_of(rte_mbuf* frame) {
  return rte_pktmbuf_mtod(frame, wire::EthernetHeader*)->destination;
}
const wire::MacAddress& destination_of(const rte_mbuf* frame) {
  return rte_pktmbuf_mtod(frame, const wire::EthernetHeader*)->destination;
}

unsigned failing_host(const Case& c) { return static_cast<unsigned>(c.next_hop_host); }

/// Sends a frame over the long link to the host's box.
void hear(Scene& scene, Topology& topology, std::span<const std::uint8_t> frame) {
  topology.offer(kLongHaul, way_from(1 - failing_host(scene.plan)), to_mbuf(scene.pools.small[0], frame));
}

// Sent `times` times, so that single losses do not matter.
void tell(Scene& scene, Topology& topology, unsigned times) {
  constexpr Duration kRepeated = milliseconds(200);
  const Case& c = scene.plan;
  const unsigned host = failing_host(c);
  const auto news = static_cast<NextHopNews>(c.next_hop_told);
  if (news == NextHopNews::frames_of_host) {
    constexpr std::uint32_t kNobody = 0x99;
    topology.port(host).put(frame_from(c, host).opcode(wire::kUdSendOnly).qpn(kNobody).payload_size(16).build());
  } else {
    const wire::IpAddress ip = news == NextHopNews::far_host ? address_of(c, 1 - host).ip : gateway_of(c);
    hear(scene, topology, announcement(c, ip, new_next_hop()));
  }
  if (times > 1)
    scene.timeline.appoint(scene.now + kRepeated, [&scene, &topology, times] { tell(scene, topology, times - 1); });
}

}  // namespace

bool next_hop_is_dead(const Scene& scene, unsigned host) {
  const Case& c = scene.plan;
  return c.next_hop_dies_at_us != 0 && c.next_hop_host == host && scene.now >= scene.at(c.next_hop_dies_at_us);
}

bool lost_at_next_hop(const Scene& scene, unsigned host, const rte_mbuf* frame) {
  return next_hop_is_dead(scene, host) && destination_of(frame) == address_of(scene.plan, 1 - host).mac;
}

// Copies the frame, because the box that sent it may still have it in custody.
rte_mbuf* from_new_next_hop(const Scene& scene, unsigned host, rte_mbuf* frame) {
  if (destination_of(frame) != new_next_hop()) return frame;
  rte_mbuf* copy = rte_pktmbuf_copy(frame, scene.pools.frames, 0, UINT32_MAX);
  if (copy == nullptr) throw std::runtime_error("the simulated world has run out of buffers");
  destination_of(copy) = address_of(scene.plan, 1 - host).mac;
  rte_pktmbuf_free(frame);
  return copy;
}

// The gateway asks for the host's address again and again, as gateways do.
void plan_next_hop(Scene& scene, Topology& topology) {
  constexpr Number kAskedEach = 1000;  // us
  constexpr Number kTimes = 100;
  const Case& c = scene.plan;
  if (c.next_hop_dies_at_us == 0) return;
  if (c.next_hop_told == number_of(NextHopNews::gateway))
    for (Number us = 0; us < std::min<Number>(c.next_hop_dies_at_us, kTimes * kAskedEach); us += kAskedEach)
      scene.timeline.appoint(scene.at(us), [&scene, &topology] {
        const Case& its = scene.plan;
        const unsigned host = failing_host(its);
        hear(scene, topology, question(its, gateway_of(its), address_of(its, 1 - host).mac, address_of(its, host).ip));
      });
  scene.timeline.appoint(scene.at(c.next_hop_dies_at_us), [&scene, &topology] { tell(scene, topology, kTimes); });
}

}  // namespace longhaul::sim
