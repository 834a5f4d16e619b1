// SPDX-License-Identifier: BSD-3-Clause
#include "sim/attack_table.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "sim/attack_script.hpp"
#include "sim/attacker.hpp"
#include "sim/listener.hpp"
#include "sim/neighbours.hpp"
#include "sim/plans.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint32_t kForever = ~0u;
constexpr std::size_t kSmall = 16;  // bytes of payload, where only the number of frames matters
constexpr unsigned kFew = 4;        // connections
constexpr unsigned kSome = 10;
constexpr unsigned kMany = 64;
constexpr std::uint32_t kNobody = 0x900000;  // the first of many QPNs that nobody has

unsigned in_turn(Number step, unsigned of) { return static_cast<unsigned>(step % of); }
unsigned number(Number step) { return static_cast<unsigned>(step); }

// ---- tenants: what they hold ------------------------------------------------------------------

// At most 16 outstanding, as an ordinary application.
void be_neighbour(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, 2));
  if (connection.outstanding() < 16) connection.write(a.plan().attack.bytes);
}

void write_to_few(Attacker& a, Number step) { a.write_in_turn(step, kFew); }
void write_to_one(Attacker& a, Number step) { a.write_in_turn(step, 1); }
void write_to_some(Attacker& a, Number step) { a.write_in_turn(step, kSome); }
void write_to_many(Attacker& a, Number step) { a.write_in_turn(step, kMany); }

void write_to_many_pairs(Attacker& a, Number step) {
  const unsigned n = in_turn(step, kMany);
  a.connection(n, n).write(a.plan().attack.bytes);
}

void write_to_some_pairs(Attacker& a, Number step) {
  const unsigned n = in_turn(step, kSome);
  a.connection(n, n).write(a.plan().attack.bytes);
}

void write_few_and_last_ack(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  connection.write(a.plan().attack.bytes);
  if (connection.open()) connection.answer(Answer::last_ack, 0);
}

void connect_one_more(Attacker& a, Number step) { a.connection(number(step)); }
void connect_one_more_pair(Attacker& a, Number step) { a.connection(number(step), number(step)); }

void write_on_another(Attacker& a, Number step) { a.connection(number(step)).write(kSmall); }
void write_on_another_pair(Attacker& a, Number step) { a.connection(number(step), number(step)).write(kSmall); }

// Nothing behind a READ is acknowledged.
void write_behind_read(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  if (step / kFew == 8) return connection.read(512);
  connection.write(a.plan().attack.bytes);
}

void read_unanswered(Attacker& a, Number step) { a.connection(in_turn(step, kFew)).read(512); }
void read_much(Attacker& a, Number step) { a.connection(in_turn(step, kSome)).read(0x7fffffff); }
void add_unanswered(Attacker& a, Number step) { a.connection(in_turn(step, kFew)).fetch_add(); }

// Connect, one WRITE, DREQ, and all again.
void churn(Attacker& a, Number step) {
  const unsigned n = in_turn(step, kMany);
  const Number round = step / kMany;
  AttackConnection& connection = a.connection(n);
  if (round % 3 == 0 && round != 0) connection.reconnect();
  if (round % 3 == 1) connection.write(kSmall);
  if (round % 3 == 2) connection.disconnect();
}

void reuse_qpns(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  connection.write(a.plan().attack.bytes);
  if (step % 64 >= 60) connection.reconnect();
}

// Each connection has something in custody when its DREQ comes.
void pile_dreqs(Attacker& a, Number step) {
  const Number round = step / kSome;
  AttackConnection& connection = a.connection(in_turn(step, kSome));
  if (round < 2) return connection.write(kSmall);
  connection.disconnect();
}

void pile_dreqs_of_pairs(Attacker& a, Number step) {
  const unsigned n = in_turn(step, kSome);
  const Number round = step / kSome;
  AttackConnection& connection = a.connection(n, n);
  if (round < 2) return connection.write(kSmall);
  connection.disconnect();
}

void pile_stray_dreqs(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kMany));
  if (step / kMany < 6) return connection.write(kSmall);
  connection.disconnect(0xc0000000 + number(step));
}

// After eight requests the next connection has its turn.
void fail_one_after_another(Attacker& a, Number step) { a.connection(number(step / 8)).write(kSmall); }

// ---- tenants: the line, and what a box does with it ---------------------------------------------

void write_fast(Attacker& a, Number step) {
  for (unsigned n = 0; n < kFew; ++n) a.connection(n).write(a.plan().attack.bytes);
  static_cast<void>(step);
}

void write_fast_from_pairs(Attacker& a, Number step) {
  constexpr unsigned kPairs = 16;
  for (unsigned n = 0; n < kFew; ++n) {
    const unsigned pair = in_turn(step * kFew + n, kPairs);
    a.connection(pair, pair).write(a.plan().attack.bytes);
  }
}

// What waits for the pace is repeated: then all of it goes at once.
void repeat_what_waits(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  for (unsigned n = 0; n < kFew; ++n) connection.write(a.plan().attack.bytes);
  if (!connection.open()) return;
  const std::uint32_t last = wire::psn_add(connection.next_psn(), -1);
  connection.write_at(last, a.plan().attack.bytes, static_cast<std::uint8_t>(last));
}

void ask_for_all_again(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  connection.write(a.plan().attack.bytes);
  if (connection.open() && step % 8 < kFew) connection.answer(Answer::psn_nak, connection.expected());
}

void acknowledge_ahead(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  connection.write(a.plan().attack.bytes);
  if (connection.open()) connection.acknowledge_ahead(step % 3 == 0 ? 4 : 0);
}

void leave_gaps(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  connection.write(a.plan().attack.bytes);
  if (connection.open())
    connection.write_at(wire::psn_add(connection.next_psn(), 1 + static_cast<std::int64_t>(a.random().below(60000))),
                        a.plan().attack.bytes);
}

void raise_doubts(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  connection.write(a.plan().attack.bytes);
  if (!connection.open()) return;
  const auto back = 1 + static_cast<std::int64_t>(a.random().below(8));
  connection.write_at(wire::psn_add(connection.next_psn(), -back), a.plan().attack.bytes, 0xee);
}

void notify_own(Attacker& a, Number step) {
  AttackConnection& connection = a.connection(in_turn(step, kFew));
  connection.write(a.plan().attack.bytes);
  if (connection.open()) connection.notify_congestion();
}

// Requests of QPNs that count up, at PSNs close together: one stretch of the learner.
void crowd_a_stretch(Attacker& a, Number step) {
  a.send(a.near(), a.own(a.near(), 0)
                       .opcode(wire::kRcSendOnly)
                       .qpn(kNobody + number(step))
                       .psn(0x2000 + number(step % 97))
                       .ack_req()
                       .payload_size(kSmall));
}

void damage(Attacker& a, Number step) {
  auto frame = a.own(a.near(), 0)
                   .opcode(wire::kRcSendOnly)
                   .qpn(kNobody)
                   .psn(number(step) & 0xffffff)
                   .ack_req()
                   .payload_size(a.plan().attack.bytes)
                   .build();
  frame.back() ^= 0x5a;
  a.send(a.near(), frame);
}

// ---- forgers ----------------------------------------------------------------------------------

/// IDs that no exchange of the hosts has: Linux draws a secret that it mixes into its own (cm.c, random_id_operand).
wire::CmMessage forged_cm(Attacker& a, wire::CmAttribute attribute) {
  wire::CmMessage message;
  message.attribute = attribute;
  message.transaction_id = a.random().next();
  message.local_comm_id = 0xf0000000 | static_cast<std::uint32_t>(a.random().below(0x1000000));
  message.remote_comm_id = 0xf1000000 | static_cast<std::uint32_t>(a.random().below(0x1000000));
  return message;
}

void forge_req_for(Attacker& a, std::uint64_t service, std::uint32_t qpn) {
  wire::CmMessage message = forged_cm(a, wire::CmAttribute::req);
  message.remote_comm_id = 0;
  message.local_qpn = qpn;
  message.starting_psn = static_cast<std::uint32_t>(a.random().below(0x1000000));
  message.reliable_connected = true;
  message.path_mtu = 3;
  message.retry_count = 7;
  message.local_ack_timeout = 31;
  message.service_id = service;
  a.send_cm(a.near(), a.forged(a.near()), message);
}

void forge_reqs_for_service(Attacker& a, Number step) { forge_req_for(a, kListeningService, kNobody + number(step)); }
void forge_half_open(Attacker& a, Number step) { forge_req_for(a, 0xdead, kNobody + number(step)); }
void forge_req_with_qpn(Attacker& a, Number) { forge_req_for(a, kListeningService, a.guessed_qpn(a.near())); }

void forge_cm_messages(Attacker& a, Number) {
  using wire::CmAttribute;
  const auto kind = a.random().pick(
      {CmAttribute::rep, CmAttribute::rtu, CmAttribute::rej, CmAttribute::dreq, CmAttribute::drep, CmAttribute::mra});
  wire::CmMessage message = forged_cm(a, kind);
  const unsigned from = static_cast<unsigned>(a.random().below(2));
  message.local_qpn = a.guessed_qpn(from);
  message.reject_reason = 28;
  a.send_cm(from, a.forged(from), message);
}

void forge_dreq(Attacker& a, unsigned from) {
  wire::CmMessage message = forged_cm(a, wire::CmAttribute::dreq);
  message.remote_qpn = a.guessed_qpn(1 - from);
  a.send_cm(from, a.forged(from), message);
}
void forge_dreqs(Attacker& a, Number) { forge_dreq(a, a.near()); }
void forge_dreqs_of_far_end(Attacker& a, Number) { forge_dreq(a, a.far()); }

wire::PacketBuilder forged_request(Attacker& a, std::uint32_t qpn, std::uint32_t psn) {
  return a.forged(a.near()).opcode(wire::kRcSendOnly).qpn(qpn).psn(psn).ack_req().payload_size(kSmall);
}

void forge_unknown_requests(Attacker& a, Number step) {
  const auto apart = static_cast<std::uint32_t>(a.random().below(0x1000000));
  a.send(a.near(), forged_request(a, kNobody + number(step), a.guessed_psn(1, apart)));
}
void forge_crowd(Attacker& a, Number step) {
  a.send(a.near(), forged_request(a, kNobody + number(step % 256), a.guessed_psn(step, 0x10000)));
}
void forge_requests(Attacker& a, Number step) {
  a.send(a.near(), forged_request(a, a.guessed_qpn(a.far()), a.guessed_psn(step, 0x8000)));
}
void forge_unknown_opcodes(Attacker& a, Number step) {
  a.send(a.near(), forged_request(a, a.guessed_qpn(a.far()), a.guessed_psn(step, 0x8000)).opcode(kUnknownOpcode));
}

void forge_answer(Attacker& a, Number step, std::uint8_t syndrome) {
  a.send(a.far(), a.forged(a.far())
                      .opcode(wire::kRcAcknowledge)
                      .qpn(a.guessed_qpn(a.near()))
                      .psn(a.guessed_psn(step, 0x8000))
                      .aeth(syndrome, static_cast<std::uint32_t>(a.random().below(64))));
}
void forge_acks(Attacker& a, Number step) { forge_answer(a, step, wire::kAckNoCredits); }
void forge_rnr_naks(Attacker& a, Number step) { forge_answer(a, step, wire::rnr_syndrome(31)); }
void forge_psn_naks(Attacker& a, Number step) {
  forge_answer(a, step, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
}
void forge_fatal_naks(Attacker& a, Number step) {
  forge_answer(a, step, wire::nak_syndrome(wire::NakCode::remote_access_error));
}
void forge_responses(Attacker& a, Number step) {
  a.send(a.far(), a.forged(a.far())
                      .opcode(wire::kRcReadResponseOnly)
                      .qpn(a.guessed_qpn(a.near()))
                      .psn(a.guessed_psn(step, 0x8000))
                      .aeth(wire::kAckNoCredits, 1)
                      .payload_size(kSmall));
}

void forge_cnps(Attacker& a, Number) {
  constexpr std::uint8_t kReserved[16] = {};
  a.send(a.far(), a.forged(a.far()).opcode(wire::kCnp).qpn(a.guessed_qpn(a.near())).payload(kReserved));
}

// A host shows the address of its next hop with each frame.
void forge_next_hop(Attacker& a, Number step) {
  const wire::MacAddress nobody{2, 0, 0, 2, 0, static_cast<std::uint8_t>(step)};
  a.send(a.near(), a.forged(a.near())
                       .macs(address_of(a.plan(), a.near()).mac, nobody)
                       .opcode(wire::kUdSendOnly)
                       .qpn(kNobody)
                       .deth(0, kNobody)
                       .payload_size(kSmall));
}

void forge_neighbours(Attacker& a, Number step) {
  const wire::MacAddress mac{2, 0, 0, 1, static_cast<std::uint8_t>(step >> 8), static_cast<std::uint8_t>(step)};
  const auto ip = wire::IpAddress::parse(a.plan().ipv6 != 0 ? fmt::format("fd00::{:x}", 0x1000 + step % 0xe000)
                                                            : fmt::format("10.9.{}.{}", step / 250, step % 250 + 1));
  a.send(a.far(), announcement(a.plan(), ip, mac));
}

// ---- the table --------------------------------------------------------------------------------

constexpr Manners kSilent{.then = Answer::nothing};
constexpr Manners kPolite{.polite = kForever};
constexpr Manners kPromised{.polite = 6, .then = Answer::nothing};
constexpr Manners kUnseen{.announced = false, .polite = kForever};
constexpr Manners kUnseenSilent{.announced = false, .then = Answer::nothing};

constexpr Opens kOneOpen{1};
constexpr Opens kFewOpen{kFew};
constexpr Opens kSomeOpen{kSome};

constexpr auto kTenant = AttackBy::tenant;
constexpr auto kForger = AttackBy::forger;

// clang-format off
constexpr Attack kAttacks[] = {
    {"honest_neighbour", AttackBy::neighbour, "an ordinary second tenant: what the judge must find fair",
     "the judge's control", be_neighbour, kPolite, {2}, kNothing, 300, 100},

    // Custody: bytes and buffers.
    {"hoard_custody", kTenant, "four connections that are never answered fill custody with what nobody was promised",
     "issue 15, finding 3", write_to_few, kSilent, kFewOpen, kFillsCustody, 600, 10},
    {"hoard_promised", kTenant, "the same, but their first requests are answered: custody holds promises to them",
     "design 5.4: limits are the box's and the flow's, not the pair's",
     write_to_few, kPromised, kFewOpen, kFillsCustody, 600, 10},
    {"hoard_one_flow", kTenant, "one connection fills custody up to the flow's limit",
     "design 5.4", write_to_one, kPromised, kOneOpen, kFillsCustody, 600, 10},
    {"hoard_many_flows", kTenant, "ten connections of one pair of hosts, some promised data of each",
     "NCCL opens as many (nics.md 3)", write_to_some, kPromised, kSomeOpen, kFillsCustody, 600, 10},
    {"hoard_many_pairs", kTenant, "ten pairs of hosts of one tenant, some promised data of each",
     "issue 15: shares by pair of hosts", write_to_some_pairs, kPromised, {kSome, true}, kFillsCustody, 600, 10},
    {"hoard_buffers", kTenant, "small packets: the buffers end before the bytes",
     "design 5.4: 64 bytes pin an mbuf", write_to_few, kPromised, kFewOpen, kFillsBuffers, 1200, 5, kSmall},
    {"endless_patience", kTenant, "its REQ announces a timeout of 17 hours, and custody waits as long",
     "IBTA vol. 1, 12.7.34; issue 15, finding 3",
     write_to_few, {.polite = 6, .then = Answer::nothing, .ack_timeout = 31}, kFewOpen, kFillsCustody, 600, 10},
    {"last_ack_heartbeat", kTenant, "repeats its last ACK: a sign of life that renews give_up for ever",
     "IBTA vol. 1, 9.7.7.2.4; custody/answer.cpp, ack_below",
     write_few_and_last_ack, kPromised, kFewOpen, kFillsCustody, 3000, 10},
    {"rnr_for_ever", kTenant, "answers everything by RNR NAK, which renews give_up",
     "nics.md 8: rnr_retry 7 is for ever; design 6.2",
     write_to_few, {.polite = 6, .then = Answer::rnr_nak}, kFewOpen, kFillsCustody, 600, 10},
    {"reads_unanswered", kTenant, "READs that are never answered",
     "design 5.4: at most 256 a flow", read_unanswered, kSilent, kFewOpen},
    {"big_reads", kTenant, "READs of 2 GiB: the PSNs of a flow are used up by one frame",
     "custody/request.cpp, kMaxSpan", read_much, kSilent, kSomeOpen},
    {"atomics_unanswered", kTenant, "atomics that are never answered",
     "ReDMArk: atomics are the dearest", add_unanswered, kSilent, kFewOpen},
    {"mtu_lies", kTenant, "announces a path MTU of 256 bytes and sends 4096",
     "IBTA vol. 1, 12.7", write_to_few, {.polite = kForever, .path_mtu = 1}, kFewOpen, kNothing, 600, 20, 4096},

    // The connection table.
    {"hoard_connections", kTenant, "connections of one pair of hosts fill the table, and stay idle",
     "ReDMArk: QP exhaustion; design rule 9", connect_one_more, kPolite, {}, kAnnounced, 300, 50},
    {"hoard_connections_of_pairs", kTenant, "the same from 300 pairs of hosts",
     "ReDMArk", connect_one_more_pair, kPolite, {}, kAnnounced, 300, 50},
    {"hoard_by_vlan", kTenant, "the same in 300 VLANs, with the victim's own addresses",
     "design 4.2: the key includes the VLAN tags",
     connect_one_more_pair, {.polite = kForever, .own_vlan = true}, {}, kAnnounced, 300, 50},
    {"rtu_withheld", kTenant, "REQ and REP, no RTU: the table takes the connection at the REP",
     "rdma-core: a passive end may never see the RTU; design 4.2",
     connect_one_more, {.confirms = false, .polite = kForever}, {}, kAnnounced, 300, 50},
    {"learned_hoard", kTenant, "many connections that the box learns from their traffic",
     "design 4.4", write_to_many, kUnseen, {}, kNothing, 1500, 20, kSmall},
    {"learned_hoard_of_pairs", kTenant, "the same, each of its own pair of hosts",
     "design 4.4", write_to_many_pairs, kUnseen, {}, kNothing, 1500, 20, kSmall},
    {"churn", kTenant, "connects, writes once, disconnects, and again",
     "NeVerMore: CM churn", churn, kPolite, {}, kNothing, 1500, 10},
    {"reuse_qpns", kTenant, "announces its QPNs again while custody holds packets for them",
     "design 4.2, 4.5", reuse_qpns, kPromised, kFewOpen},
    {"fatal_naks", kTenant, "one connection after another fails, and its requester never asks",
     "design 6.6: a failed flow stays until it is told",
     fail_one_after_another, {.polite = 4, .then = Answer::fatal_nak}, {}, kNothing, 1200, 20, kSmall},

    // RDMA-CM.
    {"half_open_reqs", kTenant, "REQs that nobody answers, of one pair of hosts",
     "the SYN flood of RFC 4987, for RDMA-CM; cm_tracker.hpp",
     connect_one_more, {.replies = false}, {}, kAnnounced, 1000, 10},
    {"half_open_reqs_of_pairs", kTenant, "the same, each of its own pair of hosts",
     "RFC 4987; cm_tracker.cpp, make_room", connect_one_more_pair, {.replies = false}, {}, kAnnounced, 1000, 10},
    {"dreq_pile", kTenant, "ten connections close while something of each is in custody, again and again",
     "issue 15, finding 2", pile_dreqs, {.polite = 1, .then = Answer::nothing}, {kSome}, kAnnounced, 400, 20},
    {"dreq_pile_of_pairs", kTenant, "the same, each of its own pair of hosts",
     "engine/fair_limit.hpp",
     pile_dreqs_of_pairs, {.polite = 1, .then = Answer::nothing}, {kSome, true}, kAnnounced, 400, 20},
    {"stray_dreqs", kTenant, "DREQs of many IDs for connections that were learned from traffic",
     "engine/held_dreqs.hpp: several DREQs may have to wait",
     pile_stray_dreqs, {.announced = false, .polite = 4, .then = Answer::nothing}, {}, kNothing, 1200, 10},

    // The traffic learner.
    {"unknown_qpns", kTenant, "requests to QPNs that nobody has, of one pair of hosts",
     "issue 15, finding 4", write_on_another, kUnseenSilent, {}, kUnannounced, 1000, 10},
    {"unknown_qpns_of_pairs", kTenant, "the same, each of its own pair of hosts",
     "traffic_learner.hpp: shared by hosts", write_on_another_pair, kUnseenSilent, {}, kUnannounced, 1000, 10},
    {"stretch_crowd", kTenant, "many candidates within 2^18 PSNs",
     "traffic_learner.hpp, kLooks", crowd_a_stretch, kUnseenSilent, {}, kUnannounced, 1000, 10},

    // The line, the pace, turns to send.
    {"fast_writer", kTenant, "posts faster than the pace on four connections",
     "design 5.5", write_fast, kPolite, kFewOpen, kPace | kOverload, 500, 40},
    {"fast_pairs", kTenant, "posts faster than the pace from 16 pairs of hosts, for 16 turns",
     "engine/backlog.hpp: turns by pair",
     write_fast_from_pairs, kPolite, {16, true}, kPace | kOverload | kManyPlaces, 500, 40},
    {"repeat_to_jump", kTenant, "repeats what waits for the pace, so that all of it goes at once",
     "design 5.5: what waits goes at a repeat; custody/request.cpp, send_waiting",
     repeat_what_waits, kPolite, kFewOpen, kPace | kOverload, 500, 40},
    {"psn_nak_amplifier", kTenant, "each PSN NAK has all of custody sent again",
     "design 6.2; nics.md 2", ask_for_all_again, kPromised, kFewOpen, kPace, 1000, 40},
    {"acks_ahead", kTenant, "acknowledges what has not arrived yet, and what was never sent",
     "Savage et al., TCP congestion control with a misbehaving receiver, 1999",
     acknowledge_ahead, kSilent, kFewOpen, kPace},
    {"own_cnps", kTenant, "congestion notifications for its own flows",
     "IBTA Annex A17", notify_own, kPolite, kFewOpen, kPace},
    {"gaps", kTenant, "requests beyond gaps",
     "design 5.6", leave_gaps, kPolite, kFewOpen},
    {"doubts", kTenant, "repeats with other bytes: is it another life?",
     "design 4.5", raise_doubts, kPolite, kFewOpen},
    {"damaged", kTenant, "frames with a wrong ICRC",
     "ICRC before state: CONTRIBUTING.md", damage, kSilent},

    // An operator's patience.
    {"unconfirmed_holds_drain", kTenant, "custody that nobody was promised, while an operator drains",
     "issue 15, finding 3", write_to_few, kSilent, kFewOpen, kDrain},
    {"promised_holds_drain", kTenant, "custody that it was promised and never answers, while an operator drains",
     "issue 15, rule 9", write_to_few, kPromised, kFewOpen, kDrain},
    {"rnr_holds_drain", kTenant, "RNR NAKs while an operator drains",
     "design 6.2", write_to_few, {.then = Answer::rnr_nak}, kFewOpen, kDrain},

    // Forgers.
    {"forged_reqs", kForger, "REQs in a host's name for a service that listens: genuine REPs fill the table",
     "NeVerMore; design 4.2", forge_reqs_for_service, {}, {}, kAnnounced, 300, 50},
    {"forged_half_open", kForger, "REQs in a host's name that nobody answers fill its pair's room",
     "cm_tracker.hpp", forge_half_open, {}, {}, kAnnounced, 1000, 10},
    {"forged_req_with_qpn", kForger, "REQs that announce a QPN of the host again",
     "design 4.2: doubt until the RTU", forge_req_with_qpn, {}, {}, kNothing, 300, 100},
    {"forged_cm_messages", kForger, "REP, RTU, REJ, DREQ, DREP and MRA with guessed IDs",
     "NeVerMore", forge_cm_messages, {}, {}, kNothing, 600, 20},
    {"forged_dreqs", kForger, "DREQs that name a QPN, for connections learned from traffic",
     "design 6.5", forge_dreqs, {}, {}, kUnannounced, 300, 50},
    {"forged_dreqs_of_far_end", kForger, "the same from the far end",
     "design 6.5", forge_dreqs_of_far_end, {}, {}, kUnannounced, 300, 50},
    {"forged_unknown_requests", kForger, "requests in a host's name to QPNs that nobody has, anywhere in the PSNs",
     "issue 15, finding 4", forge_unknown_requests, {}, {}, kUnannounced, 1000, 10},
    {"forged_crowd", kForger, "the same at PSNs 2^16 apart: each ACK may be meant for one of them",
     "design 4.6; engine/learn.cpp, may_be_anothers", forge_crowd, {}, {}, kManyPlaces, 600, 50},
    {"forged_requests", kForger, "requests to a guessed QPN at PSNs 2^15 apart: one is plausible",
     "ReDMArk: PSN guessing; design 4.12", forge_requests, {}, {}, kNothing, 1024, 20},
    {"forged_unknown_opcodes", kForger, "the same with an opcode that the box does not know",
     "design 5.8", forge_unknown_opcodes, {}, {}, kNothing, 1024, 20},
    {"forged_acks", kForger, "ACKs to a guessed QPN at PSNs 2^15 apart",
     "ReDMArk", forge_acks, {}, {}, kNothing, 1024, 20},
    {"forged_psn_naks", kForger, "PSN NAKs likewise",
     "NeVerMore: connection break by NAK", forge_psn_naks, {}, {}, kNothing, 1024, 20},
    {"forged_rnr_naks", kForger, "RNR NAKs of half a second likewise",
     "IBTA vol. 1, table 45", forge_rnr_naks, {}, {}, kNothing, 1024, 20},
    {"forged_fatal_naks", kForger, "fatal NAKs likewise",
     "NeVerMore", forge_fatal_naks, {}, {}, kNothing, 1024, 20},
    {"forged_responses", kForger, "READ responses likewise",
     "sRDMA", forge_responses, {}, {}, kNothing, 1024, 20},
    {"forged_cnps", kForger, "congestion notifications, for which a QPN is enough",
     "IBTA Annex A17; design 6.2", forge_cnps, {}, {}, kNothing, 1024, 20},
    {"forged_neighbours", kForger, "ARP or Neighbour Advertisements of many addresses",
     "RFC 826; engine/next_hop.hpp", forge_neighbours, {}, {}, kNothing, 1024, 20},

    // Added later: cases name attacks by their row.
    {"greedy_neighbour", kTenant,
     "posts as fast as it can, and answers as it should: custody holds a round trip of it",
     "design 5.4: who comes first has custody's bytes", write_to_few, kPolite, kFewOpen, kFillsCustody, 600, 5},
    {"writes_behind_read", kTenant, "a READ that is never answered: nothing behind it is promised, in confirmed flows",
     "rule 5; nics.md 11", write_behind_read, kPromised, kFewOpen, kFillsCustody, 600, 10},
    {"unconfirmed_holds_bypass", kTenant, "custody that nobody was promised, while an operator bypasses the box",
     "issue 15, finding 3", write_to_few, kSilent, kFewOpen, kBypass},
    {"learned_at_an_end", kTenant, "connections that traffic teaches, while the victim's are announced",
     "design 4.4", write_to_many_pairs, kUnseen, {}, kAnnounced, 1500, 20, kSmall},
    {"unknown_elsewhere", kForger, "requests to QPNs that nobody has: all workers hear of them",
     "engine/unknown_requests.hpp; design 4.9", forge_crowd, {}, {}, kWorkers | kManyPlaces, 600, 50},
    {"forged_next_hop", kForger, "frames in a host's name to a MAC address that nobody has: resends go there",
     "design 4.12, 6.4", forge_next_hop, {}, {}, kLoss, 600, 50},
    {kScripted, kTenant, "one pair of hosts does what the case's steps say, over and over",
     "test/fuzz/tenant.cpp looks for the steps that cost others most", run_script, {}, {}, kNothing, 400, 20},
};
// clang-format on

}  // namespace

std::span<const Attack> attacks() { return kAttacks; }

const Attack& attack_of(const Case& c) {
  if (c.attack.kind == 0 || c.attack.kind > std::size(kAttacks))
    throw std::invalid_argument(
        fmt::format("case: attack.kind={}: attacks go from 1 to {}", c.attack.kind, std::size(kAttacks)));
  return kAttacks[c.attack.kind - 1];
}

Number attack_number(std::string_view name) {
  std::string all;
  for (std::size_t i = 0; i < std::size(kAttacks); ++i) {
    if (kAttacks[i].name == name) return i + 1;
    all += fmt::format("{}{}", i == 0 ? "" : ", ", kAttacks[i].name);
  }
  throw std::invalid_argument(fmt::format("there is no attack '{}'; there are: {}", name, all));
}

}  // namespace longhaul::sim
