// SPDX-License-Identifier: BSD-3-Clause
// What a case means for each part of its world, in this part's own terms. Hosts and boxes are 0 (A) and 1 (B), segments
// 0 to 2.
#pragma once

#include "engine/engine.hpp"
#include "link/settings.hpp"
#include "sim/case.hpp"
#include "sim/judge.hpp"
#include "sim/queue_pair.hpp"
#include "sim/work.hpp"
#include "wire/builder.hpp"

namespace longhaul::sim {

/// How often a CM message is sent before its sender gives up.
inline constexpr unsigned kCmTries = 15;

inline const BoxPlan& box_plan(const Case& c, unsigned box) { return box == 0 ? c.box_a : c.box_b; }
inline const HostPlan& host_plan(const Case& c, unsigned host) { return host == 0 ? c.a : c.b; }

/// A host's own segment, to its box.
inline unsigned segment_of(unsigned host) { return host == 0 ? 0 : 2; }
/// The way of the frames that `host` sends.
inline link::Way way_from(unsigned host) { return host == 0 ? link::Way::a_to_b : link::Way::b_to_a; }

/// There is an attack, by a tenant or by a forger.
inline bool is_attacked(const Case& c) { return c.attack.kind != 0; }
/// Someone sends forged frames.
bool has_forgers(const Case& c);
/// How long frames may wait in the rings of boxes that stand still.
inline Duration pauses(const Case& c) { return microseconds(c.box_a.pause_us + c.box_b.pause_us); }

/// The seed for everything random in a world.
inline std::uint64_t luck_of(const Case& c) { return c.seed + c.luck * 0x9e3779b97f4a7c15; }

/// The QPN of the first QP that `host` has for a connection.
inline std::uint32_t qpn_of(unsigned host, unsigned connection) { return 0x100 * (host + 1) + connection; }
/// The QPN in a later generation: the same, or another if the case says so.
inline std::uint32_t qpn_of(const Case& c, unsigned host, unsigned connection, unsigned generation) {
  constexpr std::uint32_t kApart = 0x1000;
  const bool other = c.come_back_crosswise != 0 && host == 1;
  const unsigned first = other ? (connection + generation) % static_cast<unsigned>(c.connections) : connection;
  return qpn_of(host, first) + ((c.come_back_qpns >> host & 1) != 0 ? kApart * generation : 0);
}

/// `repolicied`: after an operator has changed the policy.
engine::Settings engine_settings(const Case& c, unsigned box, bool repolicied = false);
link::Settings segment_settings(const Case& c, unsigned segment);
HostAddress address_of(const Case& c, unsigned host);
/// The MAC address of the router that replaces a dead one. Otherwise the other host's own address is used.
wire::MacAddress new_next_hop();
/// The address of the router between the hosts.
wire::IpAddress gateway_of(const Case& c);
/// What a tenant uses to send frames of its own hosts: the `pair`-th of its pairs, behind the box of `host`. With
/// `vlan` the addresses are those of the victim's hosts, and a VLAN of its own tells the pair apart.
wire::PacketBuilder tenant_frame_from(const Case& c, unsigned host, unsigned pair, bool vlan);
/// The frame is from or to a host of a tenant. `own`: the VLAN of the case's hosts.
bool is_tenants(const Case& c, wire::VlanKey own, const wire::Frame& frame);

/// Begins a frame of `host` to the other: addresses and VLAN tags.
wire::PacketBuilder frame_from(const Case& c, unsigned host);
wire::VlanKey vlan_of(const Case& c);
/// What `host` posts on a connection.
WorkPlan work_plan(const Case& c, unsigned host, unsigned connection, unsigned generation);
/// The plan of the service on `host` that anyone may connect to.
CmPlan listener_plan(const Case& c, unsigned host);
QueuePairPlan queue_pair_plan(const Case& c, unsigned host, unsigned connection, unsigned generation, Time when);

}  // namespace longhaul::sim
