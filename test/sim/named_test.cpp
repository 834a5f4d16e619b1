// SPDX-License-Identifier: BSD-3-Clause
// The cases of docs/design.md, sections 5 and 6, end to end. One thing goes wrong, by script, and the right thing
// happens. Each test also checks every invariant.
#include <catch2/catch.hpp>

#include "pools.hpp"
#include "sim/world.hpp"

using namespace longhaul;
using sim::BoxPolicy;
using sim::Case;
using sim::Closing;
using sim::NextHopNews;
using sim::NextWork;
using sim::number_of;
using sim::ScriptedEvent;

namespace {

enum Where : sim::Number { kHostA = 0, kWan = 1, kHostB = 2 };

/// Host A writes small messages to B, and both boxes trust RDMA-CM.
Case writes(sim::Number messages) {
  Case c;
  c.a.messages = messages;
  c.a.mix = number_of(sim::Mix::writes);
  c.a.max_bytes = 200;
  c.box_a.confirm_cm = c.box_b.confirm_cm = 1;
  return c;
}

ScriptedEvent request(Where where, sim::Number position, link::Action action) {
  ScriptedEvent event;
  event.segment = where;
  event.position = position;
  event.action = number_of(action);
  return event;
}

ScriptedEvent answer(Where where, sim::Number position, link::Action action) {
  ScriptedEvent event = request(where, position, action);
  event.way = number_of(link::Way::b_to_a);
  event.of_answers = 1;
  return event;
}

/// A world after its run, and its result.
struct Seen {
  explicit Seen(const Case& c) : world(c, test::sim_pools()), result(world.run()) {
    INFO(sim::to_text(c));
    if (result.violation) FAIL(result.violation->text);
  }
  std::uint64_t count(Counter counter) const { return world.count(0, counter); }
  std::uint32_t succeeded() const { return world.requester(0).succeeded(); }

  sim::World world;
  sim::Result result;
};

}  // namespace

TEST_CASE("a calm path: every request is acknowledged by the box, everything arrives") {
  const Seen seen(writes(10));
  CHECK(seen.succeeded() == 10);
  CHECK(seen.count(Counter::pseudo_acks) == 10);
  CHECK(seen.count(Counter::resends) == 0);
}

TEST_CASE("a request lost on the long haul is sent again from custody, and its requester never knows") {
  Case c = writes(10);
  c.events = {request(kWan, 3, link::Action::drop)};
  const Seen seen(c);
  CHECK(seen.succeeded() == 10);
  CHECK(seen.count(Counter::resends_psn_nak) == 1);
  CHECK(seen.count(Counter::absorbed_psn_naks) == 1);
  CHECK(seen.world.requester(0).resent() == 0);
}

TEST_CASE("a router dies and the host's next hop changes: resends follow, though their requester has nothing to say") {
  Case c = writes(10);
  const auto news = GENERATE(NextHopNews::frames_of_host, NextHopNews::far_host, NextHopNews::gateway);
  c.next_hop_told = number_of(news);
  c.ipv6 = GENERATE(0, 1);
  c.vlans = GENERATE(0, 1);
  c.wan_delay_us = 5000;
  // At this time the requests are on their way, and have not arrived.
  c.next_hop_dies_at_us = 14000;
  const Seen seen(c);
  CHECK(seen.succeeded() == 10);
  CHECK(seen.count(Counter::resends_to_new_next_hop) >= 10);
  CHECK(seen.count(Counter::next_hops_moved) == (news == NextHopNews::gateway ? 1 : 0));
  CHECK(seen.count(Counter::flows_failed) == 0);
  CHECK(seen.world.requester(0).resent() == 0);
}

TEST_CASE("the last request lost: no NAK comes, the box's own timer repairs it") {
  Case c = writes(5);
  c.events = {request(kWan, 4, link::Action::drop)};
  const Seen seen(c);
  CHECK(seen.succeeded() == 5);
  CHECK(seen.count(Counter::resends_timer) == 1);
  CHECK(seen.world.requester(0).resent() == 0);
}

TEST_CASE("a request lost before the box: the box asks for it with one PSN NAK") {
  Case c = writes(10);
  c.events = {request(kHostA, 3, link::Action::drop)};
  const Seen seen(c);
  CHECK(seen.succeeded() == 10);
  CHECK(seen.count(Counter::pseudo_naks) == 1);
  CHECK(seen.count(Counter::dropped_beyond_gap) > 0);
}

TEST_CASE("a request corrupted before the box is nobody's: it is asked for again") {
  Case c = writes(10);
  c.a.max_bytes = 3000;
  c.events = {request(kHostA, 3, link::Action::corrupt)};
  const Seen seen(c);
  CHECK(seen.succeeded() == 10);
}

TEST_CASE("a pseudo-ACK lost on its way: the repeat is answered by the responder itself") {
  Case c = writes(1);
  c.events = {answer(kHostA, 0, link::Action::drop)};
  const Seen seen(c);
  CHECK(seen.succeeded() == 1);
  CHECK(seen.count(Counter::duplicates_forwarded) >= 1);
  CHECK(seen.count(Counter::pseudo_acks_repeated) == 0);
}

// The requester gets the responder's own answer as soon as the responder can be reached: after its own timer and one
// round trip.
TEST_CASE("a lost pseudo-ACK keeps no requester: around a READ, in a message, under window, in an outage") {
  Case c;
  c.close = number_of(Closing::nobody);
  c.a.messages = 3;
  c.a.max_bytes = 3000;
  c.a.uniform = 1;
  c.a.mix = number_of(GENERATE(sim::Mix::write_only, sim::Mix::read_only, sim::Mix::common));
  c.a.depth = 3;
  c.a.ack_timeout_us = 20'000;
  c.seed = GENERATE(range(1, 6));
  c.wan_delay_us = 5000;
  c.box_a.confirm_cm = 1;
  c.box_a.policy = number_of(GENERATE(BoxPolicy::full, BoxPolicy::window));
  c.outage_segment = kWan;
  c.outage_at_us = 20'000;
  c.outage_us = GENERATE(0, 1'000'000);
  // All that the box says to the host is lost until the responder can be reached again.
  for (unsigned position = 0; position < 12; ++position)
    c.events.push_back(answer(kHostA, position, link::Action::drop));
  const Seen seen(c);
  CHECK(seen.succeeded() == 3);
  const Duration handshake = microseconds(3 * 2 * c.wan_delay_us);
  const Duration patience = microseconds(c.outage_us != 0 ? c.outage_at_us + c.outage_us : 0) + handshake +
                            microseconds(3 * c.a.ack_timeout_us) + microseconds(2 * c.wan_delay_us);
  CHECK(seen.result.lasted < patience);
}

// What the hosts see of connections that come back without RDMA-CM. The box follows the first one after it has watched
// for a second.
Case lives(unsigned more, sim::Number gap_us) {
  Case c = writes(60);
  c.connected = 1;
  c.starts_us = 1'100'000;
  c.come_back = more;
  c.come_back_us = gap_us;
  return c;
}

TEST_CASE("a connection comes back without RDMA-CM, after a blink and after a month") {
  Case c = lives(3, GENERATE(sim::Number{1}, sim::Number{30} * 24 * 3600 * 1'000'000));
  c.come_back_same = number_of(GENERATE(NextWork::other, NextWork::same));
  c.come_back_qpns = GENERATE(0, 1, 2, 3);
  c.box_a.policy = number_of(GENERATE(BoxPolicy::full, BoxPolicy::window));
  const Seen seen(c);
  CHECK(seen.succeeded() == 60);
}

TEST_CASE("it comes back with the same QPNs while the custody of the life before waits behind an outage") {
  Case c = lives(1, 1000);
  c.come_back_same = number_of(GENERATE(NextWork::other, NextWork::same));
  c.outage_segment = kWan;
  c.outage_at_us = c.starts_us + 15'000;
  c.outage_us = 3'000'000;
  const Seen seen(c);
  CHECK(seen.succeeded() == 60);
}

TEST_CASE("a real ACK lost: the next one covers it, or the probe's answer does") {
  Case c = writes(4);
  c.events = {answer(kWan, 3, link::Action::drop)};
  const Seen seen(c);
  CHECK(seen.succeeded() == 4);
  CHECK(seen.count(Counter::resends) == 1);
}

TEST_CASE("a receiver that is not ready: the box waits and sends again, for as long as it takes") {
  Case c = writes(8);
  c.a.mix = number_of(sim::Mix::sends);
  c.a.rnr_retry = 0;
  c.b.receives = 1;
  c.b.refill_us = 4000;
  c.b.nak_after_rnr = GENERATE(0, 1);
  const Seen seen(c);
  CHECK(seen.succeeded() == 8);
  CHECK(seen.count(Counter::absorbed_rnr_naks) > 0);
  CHECK(seen.world.requester(0).status() == sim::Status::success);
}

// Eight times 20 ms, and the application of host B is away for 2 s. The responder's RNR NAK is for a SEND in custody.
TEST_CASE("a receiver is away for longer than a requester's retries last: who waits behind custody hears of it") {
  Case c = writes(24);
  c.seed = GENERATE(range(1, 7));
  c.a.mix = number_of(sim::Mix::everything);
  c.a.patient = 0;
  c.b.receives = 4;
  c.b.refill_us = 2'000'000;
  c.b.rnr_timer = 24;  // 41 ms
  c.box_a.present = c.box_b.present = GENERATE(0, 1);
  const Seen seen(c);
  CAPTURE(c.seed, c.box_a.present, seen.count(Counter::rnr_naks_made), seen.count(Counter::absorbed_rnr_naks));
  CHECK(seen.succeeded() == 24);
}

// Until the first answer comes, the round trip is not known: each of the 16 requests comes up to seven times.
TEST_CASE("a timer far shorter than the round trip: two copies of a request are under way at most") {
  Case c = writes(400);
  c.a.mix = GENERATE(number_of(sim::Mix::reads), number_of(sim::Mix::common));
  c.a.first_timeout_us = 4000;
  c.a.ack_timeout_us = 4000;
  c.wan_delay_us = 15'000;
  const Seen seen(c);
  CHECK(seen.succeeded() == 400);
  CHECK(seen.count(Counter::absorbed_unanswerable) > 0);
  CHECK(seen.count(Counter::duplicates_forwarded) <= seen.count(Counter::requests) + 7 * c.a.depth);
}

TEST_CASE("READs: a lost response is asked for again, its tail only; nothing overtakes it") {
  Case c = writes(12);
  c.a.mix = number_of(sim::Mix::reads);
  c.a.max_bytes = 9000;
  for (sim::Number position = 0; position < 20; position += 3)
    c.events.push_back(answer(kWan, position, link::Action::drop));
  c.a.tail_repeat = GENERATE(0, 1);
  const Seen seen(c);
  CHECK(seen.succeeded() == 12);
  CHECK(seen.count(Counter::duplicates_forwarded) > 0);
}

TEST_CASE("atomics are executed once though their answers are lost") {
  Case c = writes(20);
  c.a.mix = number_of(sim::Mix::atomics);
  for (sim::Number position = 0; position < 20; position += 2)
    c.events.push_back(answer(kWan, position, link::Action::drop));
  const Seen seen(c);
  CHECK(seen.succeeded() == 20);
}

TEST_CASE("a fatal NAK for acknowledged data: the flow fails, the next request hears it") {
  Case c = writes(20);
  c.a.window = 2;
  c.a.pace_us = 1000;
  c.b.fatal_at = 3;
  c.b.fatal_code = number_of(wire::NakCode::remote_access_error);
  const Seen seen(c);
  CHECK(seen.count(Counter::flows_failed) == 1);
  CHECK(seen.count(Counter::failed_bytes) > 0);
  CHECK(seen.count(Counter::fatal_naks) >= 1);
  CHECK(seen.world.requester(0).status() == sim::Status::remote_access);
}

TEST_CASE("an unanswered flow is given up, visibly") {
  Case c = writes(20);
  c.a.pace_us = 1'500'000;
  c.a.window = 2;
  c.a.ack_timeout_us = 1'000'000;
  c.b.dead_at = 2;
  c.give_up_ms = 500;  // the connection's own patience, 7 x 1.07 s, is longer
  const Seen seen(c);
  CHECK(seen.count(Counter::flows_failed) == 1);
  CHECK(seen.world.requester(0).status() == sim::Status::remote_operation);
}

TEST_CASE("a closing host waits for its data: the DREQ is held until custody is empty") {
  Case c = writes(5);
  c.wan_delay_us = 20000;
  const Seen seen(c);
  CHECK(seen.count(Counter::dreqs_held) == 1);
  CHECK(seen.count(Counter::dreqs_released_late) == 0);
  CHECK(seen.count(Counter::unconfirmed_at_close_packets) == 0);
}

TEST_CASE("a DREQ is held no longer than dreq_hold") {
  Case c = writes(5);
  c.dreq_hold_ms = 50;
  c.cm_timeout_us = 20000;
  c.outage_at_us = 2500;
  c.outage_us = 100'000;
  const Seen seen(c);
  CHECK(seen.count(Counter::dreqs_held) == 1);
  CHECK(seen.count(Counter::absorbed_dreqs) > 0);
}

TEST_CASE("the responder's side closes first: what it had not answered is counted") {
  Case c = writes(200);
  c.close = number_of(Closing::b_early);
  c.close_at_us = 100;
  c.wan_delay_us = 5000;
  c.a.pace_us = 5;
  c.a.burst = 1;
  const Seen seen(c);
  CHECK(seen.count(Counter::unconfirmed_at_close_packets) > 0);
}

TEST_CASE("fifteen seconds of outage, as plain RoCE survives them") {
  Case c = writes(30);
  c.a.pace_us = 100;
  c.a.burst = 1;
  c.outage_at_us = 3000;
  c.outage_us = 15'000'000;
  c.dreq_hold_ms = 30'000;
  const Seen seen(c);
  CHECK(seen.succeeded() == 30);
  CHECK(seen.result.lasted > seconds(15));
}

TEST_CASE("PSNs and MSNs across the end of their circle") {
  Case c = writes(40);
  c.a.psn = 0xfffff0;
  c.events = {request(kWan, 14, link::Action::drop), request(kWan, 16, link::Action::drop),
              request(kHostA, 15, link::Action::drop)};
  const Seen seen(c);
  CHECK(seen.succeeded() == 40);
}

TEST_CASE("custody's limits: beyond them packets pass, and custody begins again after") {
  Case c = writes(60);
  c.a.max_bytes = 1000;
  c.a.window = 16;
  c.a.burst = 16;
  const unsigned which = GENERATE(0u, 1u, 2u);
  if (which == 0) c.box_a.flow_bytes = 3000;
  if (which == 1) c.box_a.box_bytes = 3000;
  if (which == 2) {
    c.mtu = 5;
    c.a.max_bytes = 9000;
    c.box_a.mbufs = 2;
  }
  const Seen seen(c);
  CHECK(seen.succeeded() == 60);
  CHECK(seen.result.totals.refused_custody > 0);
  CHECK(seen.count(Counter::plain_requests) > 0);
  CHECK(seen.count(Counter::flows_rejoined) > 0);
}

TEST_CASE("drain: nothing new is acknowledged, everything goes on, and acknowledging begins again after") {
  Case c = writes(200);
  c.a.pace_us = 100;
  c.a.burst = 1;
  c.box_a.drain_at_us = 5000;
  c.box_a.undrain_at_us = GENERATE(0, 12000);
  const Seen seen(c);
  CHECK(seen.succeeded() == 200);
  CHECK(seen.count(Counter::plain_requests) > 0);
  CHECK(seen.count(Counter::pseudo_acks) < 200);
}

TEST_CASE("policy off changes nothing, gaps included") {
  Case c = writes(20);
  c.box_a.policy = number_of(BoxPolicy::off);
  c.events = {request(kHostA, 3, link::Action::drop), request(kWan, 9, link::Action::drop)};
  const Seen seen(c);
  CHECK(seen.succeeded() == 20);
  CHECK(seen.count(Counter::pseudo_acks) == 0);
  CHECK(seen.count(Counter::pseudo_naks) == 0);
  CHECK(seen.count(Counter::dropped_beyond_gap) == 0);
}

TEST_CASE("a connection again, with the same QPNs") {
  Case c = writes(10);
  c.reconnect = 2;
  c.close = number_of(GENERATE(Closing::a, Closing::b, Closing::both));
  const Seen seen(c);
  CHECK(seen.count(Counter::connections_learned) == 3);
  CHECK(seen.succeeded() == 10);
}

TEST_CASE("one connection of several loses, the others do not feel it") {
  Case c = writes(20);
  c.connections = 3;
  c.b.messages = 10;
  ScriptedEvent loss = request(kWan, 5, link::Action::drop);
  loss.connection = 1;
  c.events = {loss};
  const Seen seen(c);
  CHECK(seen.succeeded() == 20);
  CHECK(seen.world.requester(0, 1).succeeded() == 20);
  CHECK(seen.world.requester(1, 2).succeeded() == 10);
}

TEST_CASE("a box that starts in the middle, or sees no RDMA-CM, spoils nothing") {
  Case c = writes(50);
  c.a.pace_us = 200;
  c.a.burst = 1;
  if (GENERATE(0, 1) == 0)
    c.box_a.start_at_us = 6000;
  else
    c.connected = 1;
  const Seen seen(c);
  CHECK(seen.succeeded() == 50);
}

TEST_CASE("a box crashes: its connections end, and go on when nothing was lost with it") {
  Case c = writes(100);
  c.a.pace_us = 300;
  c.a.burst = 1;
  c.box_a.crash_at_us = 9000;
  c.box_a.restart_after_us = GENERATE(0, 4000);
  c.box_a.dark = GENERATE(0, 1);
  const Seen seen(c);
  CHECK(seen.result.totals.crashes == 1);
  CHECK(seen.world.requester(0).ended());
}

TEST_CASE("answers take another path: the flow is not accelerated, and its requester does not suffer") {
  Case c = writes(50);
  c.box_a.confirm_cm = 0;
  c.box_a.answers_pass_by_at_us = 2000;
  const Seen seen(c);
  CHECK(seen.succeeded() == 50);
  CHECK(seen.count(Counter::pseudo_acks) == 0);
}

TEST_CASE("frames of no concern and forged ones") {
  Case c = writes(100);
  c.a.pace_us = 100;
  c.a.burst = 1;
  c.a.foreign_us = c.b.foreign_us = 60;
  c.a.forged_us = c.b.forged_us = 70;
  c.vlans = GENERATE(0, 2);
  c.ipv6 = GENERATE(0, 1);
  const Seen seen(c);
  CHECK(seen.succeeded() == 100);
  CHECK(seen.result.totals.forged > 50);
  CHECK(seen.count(Counter::pseudo_acks) > 50);
}

TEST_CASE("REQs forged to services that really listen: custody stays, and what waits in it arrives") {
  Case c = writes(100);
  c.a.pace_us = 2000;
  c.a.burst = 1;
  c.wan_delay_us = 20000;
  c.active_b = GENERATE(0, 1);
  c.a.forged_us = GENERATE(0, 1500);
  c.b.forged_us = c.a.forged_us == 0 ? 1500 : 0;
  c.box_a.workers = GENERATE(1, 3);
  const Seen seen(c);
  CHECK(seen.succeeded() == 100);
  CHECK(seen.result.totals.forged > 50);
  CHECK(seen.count(Counter::unconfirmed_at_close_packets) == 0);
  // In a REQ from host A's side, the far end's QPN is not the connection's, so the flow is not even doubted.
  if (c.a.forged_us != 0) CHECK(seen.count(Counter::pseudo_acks) >= 100);
}

TEST_CASE("REQs forged to services that really listen: a failed flow stays until its requester was told") {
  Case c = writes(20);
  c.a.pace_us = 400'000;
  c.a.burst = 1;
  c.a.window = 2;
  c.a.ack_timeout_us = 2'000'000;
  c.b.fatal_at = 3;
  c.b.fatal_code = number_of(wire::NakCode::remote_access_error);
  c.close = number_of(Closing::nobody);  // otherwise the host's DREQ would come before the next request
  c.a.forged_us = GENERATE(0, 10'000);
  c.b.forged_us = c.a.forged_us == 0 ? 10'000 : 0;
  const Seen seen(c);
  // A REQ from B's side puts the flow in doubt. So nothing was acknowledged that could be lost.
  CHECK(seen.count(Counter::flows_failed) == (c.a.forged_us != 0 ? 1 : 0));
  CHECK(seen.count(Counter::closed_untold_bytes) == 0);
  CHECK(seen.world.requester(0).status() == sim::Status::remote_access);
}

TEST_CASE("a connection again, with the same QPNs, PSNs, communication IDs and transaction") {
  Case c = writes(10);
  c.reconnect = 3;
  c.same_exchange = 1;
  c.close = number_of(GENERATE(Closing::a, Closing::b, Closing::both));
  c.active_b = GENERATE(0, 1);
  c.box_a.workers = GENERATE(1, 3);
  const Seen seen(c);
  CHECK(seen.count(Counter::connections_learned) == 4);
  CHECK(seen.count(Counter::connections_from_traffic) == 0);
  CHECK(seen.succeeded() == 10);
}

TEST_CASE("hosts with a window, a line rate and completions in groups: virtual time is what arithmetic says") {
  // No boxes, no losses, a round trip of 2 ms.
  Case c;
  c.box_a.present = c.box_b.present = 0;
  c.line_overhead = 24;
  c.local_ns = 0;
  c.a.messages = 40;
  c.a.mix = number_of(sim::Mix::write_only);
  c.a.max_bytes = 1000;
  c.a.uniform = 1;
  c.a.warm_up = 1;
  c.a.burst = 1;
  c.a.port_mbps = c.b.port_mbps = 1000;
  const auto lasted = [&c] {
    const Seen seen(c);
    CHECK(seen.succeeded() == 41);
    return seen.world.requester(0).measured_to() - seen.world.requester(0).measured_from();
  };
  constexpr Time kRoundTrip = milliseconds(2);
  // Ethernet, IPv4, UDP, BTH, RETH, ICRC; FCS, preamble and gap. Each of the two hosts' transmitters takes this time.
  // The long haul has no rate.
  constexpr Time kFrame = (14 + 20 + 8 + 12 + 16 + 1000 + 4 + 24) * 8;
  constexpr Time kAck = (14 + 20 + 8 + 12 + 4 + 4 + 24) * 8;
  constexpr Time kTurn = kRoundTrip + 2 * kFrame + 2 * kAck;

  c.a.depth = 1;
  CHECK(lasted() == 40 * kTurn);
  c.a.turnaround_ns = 20000;
  CHECK(lasted() == 40 * (kTurn + 20000));
  c.a.turnaround_ns = 0;

  c.a.depth = 4;
  CHECK(lasted() == 10 * kTurn + 3 * kFrame);
  // The application posts five requests, but the NIC sends four at a time: the result is as with four.
  c.a.depth = 5;
  c.a.nic_depth = 4;
  CHECK(lasted() == 10 * kTurn + 3 * kFrame);
  c.a.nic_depth = 0;
  // The application hears of three completions at once. The third ACK comes two frames after the first.
  c.a.depth = 3;
  c.a.moderation = 3;
  CHECK(lasted() == 13 * (kTurn + 2 * kFrame) + kTurn);

  // With more requests than a round trip holds, the line is the limit.
  c.a.depth = 1000;
  c.a.moderation = 1;
  CHECK(lasted() == kTurn + 39 * kFrame);
  c.a.message_ns = 20000;
  CHECK(lasted() == kTurn + 39 * 20000);
}
