// SPDX-License-Identifier: BSD-3-Clause
// Random cases: a few things go wrong at a time.
#include <algorithm>

#include "sim/case.hpp"
#include "sim/random.hpp"

namespace longhaul::sim {

namespace {

void draw_harm(Case& c, Random& random) {
  const bool wild = random.chance(1, 3);
  for (std::size_t segment = 0; segment < kSegments; ++segment) {
    for (std::size_t way = 0; way < 2; ++way) {
      Harm& harm = c.harm[segment][way];
      if (!random.chance(segment == kLongHaul || wild ? 2 : 1, 4)) continue;
      if (random.chance(1, 2)) harm.loss = random.between(1, random.chance(1, 4) ? 1500 : 300);
      if (random.chance(1, 4)) harm.duplicate = random.between(1, 1000);
      if (random.chance(1, 4)) harm.reorder = random.between(1, 1000);
      if (harm.reorder != 0) harm.reorder_us = random.between(1, 3000);
      if (random.chance(1, 4)) harm.corrupt = random.between(1, 600);
      if (random.chance(1, 4)) harm.jitter_us = random.between(1, 300);
      if (random.chance(1, 8)) harm.burst = random.between(1, 200);
      if (harm.burst != 0) harm.burst_frames = random.between(2, 40);
    }
  }
}

void draw_requester(HostPlan& host, Random& random) {
  host.messages = random.between(1, random.chance(1, 6) ? 60 : 20);
  host.mix = random.below(number_of(Mix::everything) + 1);
  host.max_bytes = random.pick({64, 700, 3000, 3000, 9000, 20000});
  host.depth = random.pick({1, 2, 4, 16, 64, 256});
  host.window = random.pick({2, 8, 24, 64, 256});
  host.burst = random.pick({1, 2, 5, 16, 64});
  host.pace_us = random.pick({0, 0, 1, 20, 300});
  host.ack_habit = random.pick({0, 0, 1, 3, 16, 255});
  host.selective = random.chance(1, 5);
  host.ack_timeout_us = random.pick({4000, 20000, 67000, 250000});
  if (random.chance(1, 8)) {
    host.patient = 0;
    host.retry_count = random.below(8);
  }
  if (random.chance(1, 12)) host.rnr_retry = random.below(8);
  host.initiator_depth = random.pick({1, 2, 4, 16});
  host.tail_repeat = random.chance(7, 8);
  const Number near_the_end = 0x1000000 - random.between(1, 40);
  host.psn = random.chance(1, 3) ? near_the_end : random.below(0x1000000);
}

void draw_responder(HostPlan& host, Random& random) {
  if (random.chance(1, 4)) {
    host.receives = random.between(1, 12);
    host.refill_us = random.between(1, 3000);
    host.rnr_timer = random.between(1, 14);
    host.nak_after_rnr = random.chance(1, 2);
  }
  if (random.chance(1, 3)) {
    host.ack_every = random.between(2, 8);
    host.ack_delay_us = random.between(1, 500);
  }
  if (random.chance(1, 8)) host.credits = 1;
  if (random.chance(1, 25)) {
    host.fatal_at = random.between(1, 20);
    host.fatal_code = number_of(random.pick(
        {wire::NakCode::invalid_request, wire::NakCode::remote_access_error, wire::NakCode::remote_operational_error}));
  }
  if (random.chance(1, 40)) host.dead_at = random.between(1, 20);
}

void draw_box(BoxPlan& box, const HostPlan& requester, Random& random) {
  if (random.chance(1, 10)) box.present = 0;
  if (random.chance(1, 4)) box.confirm_cm = 1;
  if (random.chance(1, 20))
    box.policy = number_of(BoxPolicy::off);
  else if (random.chance(1, 6))
    box.policy = number_of(BoxPolicy::window);
  if (random.chance(1, 6)) box.flow_bytes = random.between(0, 20000);
  if (random.chance(1, 10)) box.box_bytes = random.between(0, 30000);
  if (random.chance(1, 10)) box.mbufs = random.below(12);
  if (random.chance(1, 6)) box.window_bytes = random.between(200, 12000);
  if (random.chance(1, 6)) box.wan_mbps = random.pick({10, 50, 1000});
  if (random.chance(1, 6)) box.port_full = random.between(1, 1500);
  const Number span = 20000 + requester.messages * 1000;
  if (random.chance(1, 12)) {
    box.drain_at_us = random.between(1, span);
    if (random.chance(2, 3)) box.undrain_at_us = box.drain_at_us + random.between(1, span);
  }
  if (random.chance(1, 25)) box.start_at_us = random.between(1, span);
  if (random.chance(1, 20)) {
    box.crash_at_us = random.between(1, span);
    if (random.chance(2, 3)) box.restart_after_us = random.between(1, 50000);
    box.dark = random.chance(1, 2);
    box.record = random.chance(1, 2);
  }
  if (random.chance(1, 30)) box.answers_pass_by_at_us = random.between(1, span);
}

// QPs that come back without RDMA-CM, after a moment or a month. A box learns nothing from traffic in its first second.
void draw_lives(Case& c, Random& random) {
  c.connected = random.chance(2, 3);
  c.close = c.connected != 0 ? c.close : number_of(Closing::nobody);
  c.reconnect = 0;
  c.starts_us = c.connected != 0 && random.chance(5, 6) ? 1'100'000 : 0;
  c.come_back = random.between(1, 4);
  constexpr Number kMonth = Number{30} * 24 * 3600 * 1'000'000;
  c.come_back_us = random.pick({0, 50, 1000, 20000, 300000, 5'000'000, kMonth});
  c.come_back_qpns = random.pick({0, 0, 0, 1, 2, 3});
  c.come_back_psn = random.pick({0, 0, 0, 0x8000, 0x240000});
  c.come_back_same = number_of(random.pick({NextWork::other, NextWork::same, NextWork::same_first_message}));
  c.reject = c.same_exchange = 0;
  // RDMA-CM draws PSNs at random, so in reality an unannounced life does not begin where an unanswered one did. Here it
  // may, so boxes do not confirm by RDMA-CM.
  if (c.connected == 0) c.box_a.confirm_cm = c.box_b.confirm_cm = 0;
  if (random.chance(1, 3)) c.leave_us = random.between(100, 200000);
  // A box that stands still keeps frames in its ring longer than any network, past the end of a life. And the judge
  // knows only one next hop for all lives.
  for (BoxPlan* box : {&c.box_a, &c.box_b}) box->pause_at_us = box->pause_us = 0;
  c.next_hop_dies_at_us = 0;
  // All other events come after the first life has begun.
  if (c.outage_us != 0) c.outage_at_us += c.starts_us;
  for (BoxPlan* box : {&c.box_a, &c.box_b})
    for (Number* at : {&box->drain_at_us, &box->undrain_at_us, &box->crash_at_us, &box->repolicy_at_us,
                       &box->bypass_at_us, &box->answers_pass_by_at_us})
      if (*at != 0) *at += c.starts_us;
  // Custody fails, and its QPs begin new lives, whose acknowledgements are recorded as before.
  if (random.chance(1, 8)) {
    c.give_up_ms = random.pick({50, 300});
    c.outage_segment = 1;
    c.outage_at_us = c.starts_us + random.between(1, 60'000);
    c.outage_us = c.give_up_ms * 1000 * random.between(1, 4);
    c.box_a.record = c.box_b.record = 1;
  }
  // A box crashes between two lives, or in a later one.
  for (BoxPlan* box : {&c.box_a, &c.box_b})
    if (box->crash_at_us != 0 && c.come_back_us <= 5'000'000 && random.chance(1, 2))
      box->crash_at_us += c.leave_us + random.below(c.come_back_us + 100'000);
}

// A server with several clients restarts, and they come back in another order. They begin in step, as NCCL's queue
// pairs do, or at PSNs of their own, as with RDMA-CM.
void draw_crosswise(Case& c, Random& random) {
  c.connections = std::max<Number>(c.connections, random.between(2, 3));
  c.come_back_crosswise = 1;
  c.apart_us = random.pick({0, 300, 4000, 100000});
  const Number apart = random.pick({0, 1, 40, 4096});
  c.psns_apart = c.connected != 0 ? apart : 4096;
  // A forged READ just below one connection's first PSN would be its neighbour's first request.
  if (c.psns_apart == 1 || c.psns_apart == 40) c.a.forged_reads = c.b.forged_reads = 0;
}

// From a hiccup to twice the time that custody waits for an answer.
void draw_pause(Case& c, BoxPlan& box, Random& random) {
  const Number span = 20000 + (&box == &c.box_a ? c.a : c.b).messages * 1000;
  box.pause_at_us = random.between(1, span);
  if (c.give_up_ms > 30000 && random.chance(1, 2)) c.give_up_ms = 30000;
  const Number give_up_us = c.give_up_ms * 1000;
  box.pause_us = random.chance(1, 2) ? random.between(give_up_us, 2 * give_up_us)
                                     : random.between(1000, random.pick({10000, 100000, 1000000, 2 * give_up_us}));
  box.ring = random.pick({8, 64, 512, 1024, 4096});
  // Patient hosts repeat their requests all this time: a few hundred repeats show as much as many thousands.
  for (HostPlan* host : {&c.a, &c.b}) host->ack_timeout_us = std::max(host->ack_timeout_us, box.pause_us / 400);
}

// An application that is away for about as long as custody waits for an answer: its responder sends RNR NAKs meanwhile.
void draw_absence(Case& c, HostPlan& host, Random& random) {
  HostPlan& peer = &host == &c.a ? c.b : c.a;
  peer.messages = std::min<Number>(peer.messages, 6);
  host.receives = random.between(1, 3);
  host.refill_us = random.between(c.give_up_ms * 250, c.give_up_ms * 1500);
  host.rnr_timer = random.between(24, 31);
  host.nak_after_rnr = random.chance(1, 2);
  peer.ack_timeout_us = std::max(peer.ack_timeout_us, host.refill_us / 400);
}

void draw_ports(Case& c) {
  Random random(c.seed, 0, 3);
  const SourcePort port =
      random.pick({SourcePort::fixed, SourcePort::both_qpns, SourcePort::both_qpns, SourcePort::own_qpn});
  for (HostPlan* host : {&c.a, &c.b}) host->udp_port = number_of(port);
}

}  // namespace

void draw_local(Case& c) {
  Random random(c.seed, 0, 2);
  c.local_ns = random.pick({200, 1000, 1000, 20'000, 100'000, 500'000});
  for (HostPlan* host : {&c.a, &c.b}) host->ack_timeout_us += 4 * c.local_ns / 1000;
}

void draw_cnps(Case& c) {
  Random random(c.seed, 0, 4);
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->cnp = random.chance(3, 4);
    box->cnp_absorb = random.chance(1, 4);
  }
}

void draw_unasked(Case& c) {
  Random random(c.seed, 0, 6);
  for (BoxPlan* box : {&c.box_a, &c.box_b}) box->ack_unasked_us = random.pick({0, 20, 100, 100, 2000});
}

void draw_adaptive_routing(Case& c) {
  Random random(c.seed, 0, 5);
  if (!random.chance(1, 6)) return;
  const bool everywhere = random.chance(1, 3);
  for (std::size_t segment = 0; segment < kSegments; ++segment)
    for (Harm& harm : c.harm[segment]) {
      if (segment == kLongHaul && !everywhere) continue;
      harm.reorder = random.pick({10, 100, 1000});
      harm.reorder_us = random.between(10, 100);
    }
  for (HostPlan* host : {&c.a, &c.b}) host->places_us = random.pick({0, 0, 150, 1000});
  for (BoxPlan* box : {&c.box_a, &c.box_b}) box->reorder_wait_us = random.pick({0, 50, 200, 200, 200, 1000});
}

Case draw_case(std::uint64_t seed) {
  Random random(seed, 0, 0);
  Case c;
  c.seed = seed;
  c.mtu = random.pick({1, 2, 3, 3, 3, 4, 5});
  c.ipv6 = random.chance(1, 5);
  if (random.chance(1, 5)) c.vlans = random.between(1, 2);
  if (random.chance(1, 8)) c.p_key = 0x8001;
  if (random.chance(1, 6)) {
    c.connections = random.between(2, 3);
    if (random.chance(1, 3)) c.psns_apart = random.below(40);
  }
  if (random.chance(1, 50)) c.reject = 1;
  c.active_b = random.chance(1, 4);
  if (random.chance(1, 10)) c.connected = 1;
  c.close = number_of(random.pick({Closing::nobody, Closing::a, Closing::a, Closing::a, Closing::b, Closing::both}));
  if (random.chance(1, 12)) {
    c.close = number_of(random.pick({Closing::a_early, Closing::b_early}));
    c.close_at_us = random.between(100, 60000);
  }
  if (c.close != number_of(Closing::nobody) && c.connected == 0 && random.chance(1, 8))
    c.reconnect = random.between(1, 2);
  c.cm_timeout_us = random.pick({50000, 500000, 4300000});
  c.wan_delay_us = random.pick({20, 200, 1000, 5000, 20000});
  if (random.chance(1, 4)) {
    c.wan_mbps = random.pick({10, 100, 1000});
    // A queue smaller than one READ's response would starve plain RoCE for ever.
    if (random.chance(1, 2)) c.wan_queue = random.between(40000, 200000);
  }
  if (random.chance(1, 15)) {
    c.outage_at_us = random.between(1, 60000);
    c.outage_us = random.pick({1000, 30000, 300000, 3000000});
    c.outage_segment = random.below(kSegments);
  }
  if (random.chance(1, 20)) c.give_up_ms = random.pick({50, 500, 3000});
  c.dreq_hold_ms = random.pick({3000, 3000, 300, 20});
  draw_requester(c.a, random);
  draw_requester(c.b, random);
  if (random.chance(1, 2)) c.b.messages = 0;
  draw_responder(c.a, random);
  draw_responder(c.b, random);
  draw_box(c.box_a, c.a, random);
  draw_box(c.box_b, c.b, random);
  if (random.chance(3, 4)) draw_harm(c, random);
  if (random.chance(1, 8)) c.a.foreign_us = random.between(50, 2000);
  if (random.chance(1, 8)) c.b.foreign_us = random.between(50, 2000);
  if (random.chance(1, 8)) c.a.forged_us = random.between(100, 5000);
  if (random.chance(1, 8)) c.b.forged_us = random.between(100, 5000);
  // With a timer shorter than the round trip, every host floods the path.
  const bool slow = c.wan_mbps != 0 || c.box_a.wan_mbps != 0 || c.box_b.wan_mbps != 0;
  const Number least = 3 * c.wan_delay_us + (slow ? 250000 : 0);
  for (HostPlan* host : {&c.a, &c.b}) host->ack_timeout_us = std::max(host->ack_timeout_us, least);
  for (Number n = random.chance(1, 6) ? random.between(1, 4) : 0; n > 0; --n) {
    ScriptedEvent event;
    event.segment = random.below(kSegments);
    event.way = number_of(random.pick({link::Way::a_to_b, link::Way::b_to_a}));
    event.connection = random.below(c.connections);
    event.of_answers = random.chance(1, 2);
    event.position = random.below(20);
    event.any_psn = random.chance(1, 3);
    event.nth = random.between(1, event.any_psn != 0 ? 20 : 3);
    event.count = random.chance(1, 4) ? 3 : 1;
    event.action = number_of(random.pick(
        {link::Action::drop, link::Action::duplicate, link::Action::delay, link::Action::corrupt, link::Action::ecn}));
    event.delay_us = random.between(1, 5000);
    c.events.push_back(event);
  }
  const bool foreign = c.a.foreign_us != 0 || c.b.foreign_us != 0;
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    if (!random.chance(1, 3)) continue;
    box->workers = random.between(2, 4);
    // Frames that are not RoCE stay with the worker that receives them, and nothing orders them with frames of another
    // home.
    if (!foreign && random.chance(1, 2)) box->receiver = random.between(1, box->workers - 1);
    box->hand_over_us = random.pick({0, 0, 3, 100});
  }
  // A box that sees no answers sees neither the end of one connection nor the beginning of the next.
  const bool one_way = c.box_a.answers_pass_by_at_us != 0 || c.box_b.answers_pass_by_at_us != 0;
  if (c.reconnect != 0 && !one_way) c.same_exchange = random.chance(1, 3);
  // Actions of an operator.
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    const Number span = 20000 + (box == &c.box_a ? c.a : c.b).messages * 1000;
    if (random.chance(1, 15)) {
      box->repolicy_at_us = random.between(1, span);
      box->repolicy = number_of(random.pick({BoxPolicy::off, BoxPolicy::full, BoxPolicy::window}));
    }
    if (random.chance(1, 15)) {
      box->bypass_at_us = random.between(1, span);
      if (random.chance(2, 3)) box->bypass_us = random.between(1, span);
    }
  }
  for (BoxPlan* box : {&c.box_a, &c.box_b})
    if (random.chance(1, 30)) draw_pause(c, *box, random);
  if (random.chance(1, 25)) {
    c.next_hop_host = random.below(2);
    auto news = random.pick({NextHopNews::frames_of_host, NextHopNews::far_host, NextHopNews::gateway});
    const BoxPlan& box = c.next_hop_host == 0 ? c.box_a : c.box_b;
    // A box that starts late may have missed the gateway's old address.
    if (news == NextHopNews::gateway && box.start_at_us != 0) news = NextHopNews::far_host;
    // ARP has no checksum: on a real link the FCS detects the damage.
    if (news == NextHopNews::gateway) c.harm[kLongHaul][1 - c.next_hop_host].corrupt = 0;
    c.next_hop_told = number_of(news);
    c.next_hop_dies_at_us = random.between(news == NextHopNews::gateway ? 15000 : 1, 40000);
  }
  if (random.chance(1, 8)) draw_lives(c, random);
  for (HostPlan* host : {&c.a, &c.b}) {
    if (host->forged_us != 0) host->forged_reads = random.chance(1, 2);
    if (random.chance(1, 25)) host->odd_nak_at = random.between(1, 20);
    if (random.chance(1, 60)) draw_absence(c, *host, random);
  }
  if (c.come_back != 0 && random.chance(1, 5)) draw_crosswise(c, random);
  draw_local(c);
  draw_ports(c);
  draw_cnps(c);
  draw_adaptive_routing(c);
  draw_unasked(c);
  return c;
}

}  // namespace longhaul::sim
