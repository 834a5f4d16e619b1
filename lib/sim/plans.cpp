// SPDX-License-Identifier: BSD-3-Clause
#include "sim/plans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ack_timeout.hpp"
#include "sim/attack_table.hpp"
#include "sim/listener.hpp"
#include "sim/source_port.hpp"
#include "wire/path_mtu.hpp"

namespace longhaul::sim {

namespace {

constexpr Number kLargeQueue = 1'000'000;
constexpr Number kActions = number_of(link::Action::ecn) + 1;

/// The box that takes in frames that leave the segment this way; null if a host does.
const BoxPlan* box_behind(const Case& c, unsigned segment, link::Way way) {
  const unsigned place = segment + (way == link::Way::a_to_b ? 1 : 0);  // 0: host A, 1: box A, 2: box B, 3: host B
  if (place == 0 || place == 3) return nullptr;
  const BoxPlan& box = box_plan(c, place - 1);
  return box.present != 0 ? &box : nullptr;
}

}  // namespace

bool has_forgers(const Case& c) {
  return c.a.forged_us != 0 || c.b.forged_us != 0 || (is_attacked(c) && attack_of(c).who == AttackBy::forger);
}

engine::Settings engine_settings(const Case& c, unsigned box, bool repolicied) {
  const BoxPlan& plan = box_plan(c, box);
  engine::Settings settings;
  settings.lane = c.lane != 0;
  settings.max_connections = std::max<std::uint32_t>(16, 2 * static_cast<std::uint32_t>(c.connections));
  settings.max_pending_cm = 64;
  settings.max_candidates = 16;
  // Indexed by BoxPolicy.
  constexpr flow::Policy kPolicies[] = {flow::Policy::off, flow::Policy::full, flow::Policy::window};
  settings.policies.fallback = kPolicies[repolicied ? plan.repolicy : plan.policy];
  settings.confirm = plan.confirm_cm != 0 ? engine::Confirm::cm : engine::Confirm::answer;
  settings.wan_rate_bps = plan.wan_mbps * 1'000'000;
  settings.wan_overhead = static_cast<std::uint32_t>(c.line_overhead);
  settings.custody_box_bytes = plan.box_bytes;
  settings.custody_flow_bytes = plan.flow_bytes;
  settings.custody_mbufs = static_cast<std::uint32_t>(plan.mbufs);
  settings.initial_window_bytes = plan.window_bytes;
  settings.cnp.send = plan.cnp != 0;
  // So that the judge tells them from those of hosts, which have 48.
  constexpr std::uint8_t kDscp = 46;
  settings.cnp.dscp = kDscp;
  // Most worlds post a few frames only.
  constexpr std::uint64_t kFewFrames = 3000;
  if (c.wan_queue < kLargeQueue) settings.cnp.least_backlog = kFewFrames;
  settings.cnp.from_wan = plan.cnp_absorb != 0 ? custody::WanCnps::absorb : custody::WanCnps::pass;
  settings.reorder_wait = microseconds(plan.reorder_wait_us);
  settings.ack_unasked = microseconds(plan.ack_unasked_us);
  settings.give_up = milliseconds(c.give_up_ms);
  settings.dreq_hold = milliseconds(c.dreq_hold_ms);
  if (c.places != 0) {
    const auto places = static_cast<std::uint32_t>(c.places);
    settings.max_connections = settings.max_pending_cm = settings.max_candidates = places;
    // So that not each connection has room for one, as in a real box; but a few of one pair of hosts have.
    constexpr std::uint32_t kLeastDreqs = 8;
    settings.max_held_dreqs = std::max(places / 4, kLeastDreqs * static_cast<std::uint32_t>(plan.workers));
  }
  // As the defaults are to each other.
  constexpr unsigned kLongest = 10;
  constexpr double kPairShare = 0.5;
  if (is_attacked(c)) {
    settings.longest_give_up = std::min(settings.longest_give_up, kLongest * settings.give_up);
    settings.custody_pair_share = settings.connections_pair_share = kPairShare;
  }
  return settings;
}

link::Settings segment_settings(const Case& c, unsigned segment) {
  link::Settings settings;
  settings.seed = luck_of(c) * 3 + segment;
  if (c.by_packet != 0) settings.fates_by = link::FatesBy::packet;
  const bool wan = segment == kLongHaul;
  for (std::size_t way = 0; way < 2; ++way) {
    const Harm& harm = c.harm[segment][way];
    link::DirectionSettings& direction = settings.directions[way];
    direction.delay = wan ? microseconds(c.wan_delay_us) + c.wan_delay_ns : c.local_ns;
    direction.line_overhead = static_cast<std::uint32_t>(c.line_overhead);
    if (const BoxPlan* box = box_behind(c, segment, static_cast<link::Way>(way))) direction.frame_time = box->frame_ns;
    if (!wan) direction.rate_bps = host_plan(c, segment / 2).port_mbps * 1'000'000;
    direction.jitter = microseconds(harm.jitter_us);
    direction.loss = static_cast<double>(harm.loss) / 1e4 + static_cast<double>(harm.loss_ppm) / 1e6;
    direction.duplicate = static_cast<double>(harm.duplicate) / 1e4;
    direction.reorder = static_cast<double>(harm.reorder) / 1e4;
    direction.reorder_extra = microseconds(harm.reorder_us);
    direction.corrupt = static_cast<double>(harm.corrupt) / 1e4;
    if (wan) {
      direction.rate_bps = c.wan_mbps * 1'000'000;
      constexpr std::uint64_t kDeepQueue = 300'000;
      direction.queue_bytes = c.wan_queue != 0 ? c.wan_queue : kDeepQueue;
      direction.ecn_bytes = c.wan_ecn;
    }
  }
  for (const ScriptedEvent& scripted : c.events) {
    if (scripted.segment != segment) continue;
    link::Event event;
    const unsigned to_host = scripted.way == number_of(link::Way::a_to_b) ? 1 : 0;
    event.way = way_from(1 - to_host);
    const unsigned requester = scripted.of_answers != 0 ? to_host : 1 - to_host;
    event.qpn = qpn_of(to_host, static_cast<unsigned>(scripted.connection));
    if (scripted.any_psn == 0)
      event.psn = (host_plan(c, requester).psn + scripted.connection * c.psns_apart + scripted.position) & 0xffffff;
    event.nth = scripted.nth;
    event.count = scripted.count;
    event.action = static_cast<link::Action>(scripted.action % kActions);
    event.delay = microseconds(scripted.delay_us);
    settings.events.push_back(event);
  }
  return settings;
}

HostAddress address_of(const Case& c, unsigned host) {
  HostAddress address;
  const std::string last = host == 0 ? "1" : "2";
  address.ip = wire::IpAddress::parse(c.ipv6 != 0 ? "fd00::" + last : "10.0.0." + last);
  address.mac = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(0xa0 + host)};
  return address;
}

wire::MacAddress new_next_hop() { return {0x02, 0, 0, 0, 0, 0xcc}; }

wire::IpAddress gateway_of(const Case& c) { return wire::IpAddress::parse(c.ipv6 != 0 ? "fd00::fe" : "10.0.0.254"); }

wire::PacketBuilder frame_from(const Case& c, unsigned host) {
  const HostAddress from = address_of(c, host);
  const HostAddress to = address_of(c, 1 - host);
  wire::PacketBuilder builder;
  builder.ips(from.ip, to.ip).macs(from.mac, to.mac);
  if (c.vlans == 2) builder.vlan(300, wire::kEtherTypeQinQ);
  if (c.vlans >= 1) builder.vlan(100);
  return builder;
}

namespace {

constexpr std::uint8_t kTenants = 7;  // the second octet, or group of sixteen bits, of their addresses

wire::IpAddress tenant_address(const Case& c, unsigned host, unsigned pair) {
  return wire::IpAddress::parse(c.ipv6 != 0 ? fmt::format("fd00:{}::{:x}:{}", kTenants, pair, host + 1)
                                            : fmt::format("10.{}.{}.{}", kTenants, pair / 100, pair % 100 * 2 + host));
}

bool is_tenants(const Case& c, const wire::IpAddress& address) {
  const auto& bytes = address.bytes;
  return c.ipv6 != 0 ? bytes[0] == 0xfd && bytes[3] == kTenants : bytes[12] == 10 && bytes[13] == kTenants;
}

}  // namespace

wire::PacketBuilder tenant_frame_from(const Case& c, unsigned host, unsigned pair, bool vlan) {
  constexpr std::uint16_t kFirstVlan = 1000;
  if (vlan) {
    wire::PacketBuilder builder;
    const HostAddress from = address_of(c, host), to = address_of(c, 1 - host);
    builder.ips(from.ip, to.ip).macs(from.mac, to.mac);
    if (c.vlans == 2) builder.vlan(300, wire::kEtherTypeQinQ);
    return builder.vlan(static_cast<std::uint16_t>(kFirstVlan + pair % 1000));
  }
  constexpr std::uint8_t kMac = 0xd0;
  const auto mac = [](unsigned end) { return wire::MacAddress{2, 0, 0, 0, 0, static_cast<std::uint8_t>(kMac + end)}; };
  return frame_from(c, host)
      .ips(tenant_address(c, host, pair), tenant_address(c, 1 - host, pair))
      .macs(mac(host), mac(1 - host));
}

bool is_tenants(const Case& c, wire::VlanKey own, const wire::Frame& frame) {
  return !(frame.vlan == own) || is_tenants(c, frame.source) || is_tenants(c, frame.destination);
}

wire::VlanKey vlan_of(const Case& c) {
  const auto sample = frame_from(c, 0).build();
  return View(sample).frame.vlan;
}

WorkPlan work_plan(const Case& c, unsigned host, unsigned connection, unsigned generation) {
  const HostPlan& plan = host_plan(c, host);
  WorkPlan work;
  const std::uint64_t first_life = c.seed * 1000003 + host * 1000 + connection * 100;
  const bool same = c.come_back != 0 && c.come_back_same == number_of(NextWork::same);
  work.key = first_life + (same ? 0 : generation);
  if (c.come_back != 0 && c.come_back_same == number_of(NextWork::same_first_message)) work.first_key = first_life;
  work.messages = static_cast<std::uint32_t>(plan.messages);
  work.max_bytes = static_cast<std::uint32_t>(plan.max_bytes);
  work.path_mtu = wire::path_mtu_bytes(static_cast<std::uint8_t>(c.mtu));
  // Generations far apart are a host's own rule for reused QPNs (for RFC 6056's reason), but not every host's.
  const Number apart = c.come_back != 0 ? c.come_back_psn : c.same_exchange != 0 ? 0 : 0x240000;
  work.starting_psn =
      static_cast<std::uint32_t>((plan.psn + connection * c.psns_apart + generation * apart) & 0xffffff);
  work.mix = static_cast<Mix>(plan.mix);
  work.uniform = plan.uniform != 0;
  work.warm_up = static_cast<std::uint32_t>(plan.warm_up);
  return work;
}

CmPlan listener_plan(const Case& c, unsigned host) {
  constexpr unsigned kTries = 3;
  CmPlan cm;
  cm.comm_id = 0xe0000000 + host * 0x1000000;
  cm.service = kListeningService;
  cm.qpn = 0x10000 * (host + 1);
  cm.peer_starting_psn = 0x5000;
  cm.path_mtu = static_cast<std::uint8_t>(c.mtu);
  cm.timeout = microseconds(c.cm_timeout_us);
  cm.tries = kTries;
  return cm;
}

QueuePairPlan queue_pair_plan(const Case& c, unsigned host, unsigned number, unsigned generation, Time when) {
  const WorkPlan answered = work_plan(c, 1 - host, number, generation);
  const HostPlan& plan = host_plan(c, host);
  const HostPlan& peer = host_plan(c, 1 - host);
  QueuePairPlan qp;
  qp.qpn = qpn_of(c, host, number, generation);
  qp.remote_qpn = qpn_of(c, 1 - host, number, generation);
  qp.p_key = static_cast<std::uint16_t>(c.p_key);
  qp.udp_port = source_port(static_cast<SourcePort>(plan.udp_port), qp.qpn, qp.remote_qpn, luck_of(c));
  qp.cnp_interval = microseconds(plan.cnp_us);
  qp.active = (host == 1) == (c.active_b != 0);
  qp.starts_at = when;
  RequesterPlan& r = qp.requester;
  r.luck = c.luck;
  r.depth = static_cast<std::uint32_t>(plan.depth);
  r.window = static_cast<std::uint32_t>(plan.window);
  r.burst = static_cast<std::uint32_t>(plan.burst);
  r.pace = microseconds(plan.pace_us);
  r.ack_habit = static_cast<std::uint32_t>(plan.ack_habit);
  r.ack_each = static_cast<std::uint32_t>(plan.ack_each);
  r.first_timeout = microseconds(plan.first_timeout_us);
  r.rate = {static_cast<Congestion>(plan.congestion), plan.port_mbps};
  r.selective = plan.selective != 0;
  r.ack_timeout = microseconds(plan.ack_timeout_us);
  r.timeout_spread = static_cast<std::uint32_t>(plan.timeout_spread);
  r.retry_count = static_cast<std::uint8_t>(plan.retry_count);
  // With a requester that never gives up, these would not end: a responder that is gone for good, a fatal NAK for what
  // another path has acknowledged, a flow given up over a lost pseudo-ACK.
  constexpr Number kLongGiveUp = 30000;
  r.patient = plan.patient != 0 && peer.dead_at == 0 && c.give_up_ms >= kLongGiveUp &&
              (host == 0 ? c.box_b : c.box_a).pause_us < c.give_up_ms * 500 && !loses_a_box(c) &&
              c.box_a.answers_pass_by_at_us == 0 && c.box_b.answers_pass_by_at_us == 0;
  r.rnr_retry = static_cast<std::uint8_t>(plan.rnr_retry);
  r.initiator_depth = static_cast<std::uint32_t>(plan.initiator_depth);
  r.tail_repeat = plan.tail_repeat != 0;
  r.places = microseconds(plan.places_us);
  r.nic_depth = static_cast<std::uint32_t>(plan.nic_depth);
  r.moderation = static_cast<std::uint32_t>(plan.moderation);
  r.turnaround = plan.turnaround_ns;
  r.message_time = plan.message_ns;
  r.warm_up = static_cast<std::uint32_t>(plan.warm_up);
  r.keeps_delays = is_attacked(c);
  ResponderPlan& p = qp.responder;
  p.starting_psn = answered.starting_psn;
  p.path_mtu = answered.path_mtu;
  p.key = answered.key;
  p.memory = std::max(kWriteBytes, answered.max_bytes);
  p.receives = static_cast<std::uint32_t>(plan.receives);
  p.refill = microseconds(plan.refill_us);
  p.rnr_timer = static_cast<std::uint8_t>(plan.rnr_timer);
  p.nak_after_rnr = plan.nak_after_rnr != 0;
  p.ack_every = static_cast<std::uint32_t>(plan.ack_every);
  p.ack_delay = microseconds(plan.ack_delay_us);
  p.credits = plan.credits != 0;
  p.resources = static_cast<std::uint32_t>(peer.initiator_depth);
  p.fatal_at = static_cast<std::uint32_t>(plan.fatal_at);
  p.fatal_code = static_cast<wire::NakCode>(plan.fatal_code);
  p.odd_nak_at = static_cast<std::uint32_t>(plan.odd_nak_at);
  p.dead_at = static_cast<std::uint32_t>(plan.dead_at);
  p.places = microseconds(plan.places_us);
  if (is_announced(c, generation)) {
    CmPlan cm;
    cm.rejects = c.reject != 0;
    const unsigned counted = c.same_exchange != 0 ? 0 : generation;
    cm.comm_id = qpn_of(host, number) << 8 | counted;
    cm.transaction = (Number{number} << 8 | counted) + 1;
    cm.service = cm.transaction;
    cm.qpn = qpn_of(host, number);
    cm.peer_starting_psn = answered.starting_psn;
    cm.path_mtu = static_cast<std::uint8_t>(c.mtu);
    cm.retry_count = static_cast<std::uint8_t>(plan.retry_count);
    cm.ack_timeout = static_cast<std::uint8_t>(ack_timeout_code(r.ack_timeout));
    cm.resources = static_cast<std::uint8_t>(plan.initiator_depth);
    cm.flow_control = plan.credits != 0;
    cm.timeout = microseconds(c.cm_timeout_us);
    cm.tries = kCmTries;
    qp.cm = cm;
  }
  return qp;
}

}  // namespace longhaul::sim
