// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/attacks/table.hpp"

#include <fmt/core.h>

#include <string>

#include "wire/psn.hpp"

namespace longhaul::bench {

namespace {

using test::Pair;

constexpr std::uint32_t kFirst = 101;  // PSN after Target::connect()

std::uint8_t hosts_of_attacker = 0;

// The attacker has addresses of its own on both sides.
Pair attacker() {
  Pair pair;
  pair.a_ip = fmt::format("10.66.{}.1", hosts_of_attacker);
  pair.b_ip = fmt::format("10.66.{}.2", hosts_of_attacker);
  return pair;
}

// Another connection between the attacker's hosts, each with QPNs and IDs of its own.
Pair attacker(std::uint32_t number) {
  Pair pair = attacker();
  pair.a_qpn = 0x1000 + number;
  pair.b_qpn = 0x100000 + number;
  pair.a_comm = 0x200000 + number;
  pair.b_comm = 0x400000 + number;
  pair.transaction = 0x600000 + number;
  return pair;
}

// ---- packets in custody -----------------------------------------------------------------------

std::uint32_t last_held(std::uint32_t held) { return wire::psn_add(kFirst, held - 1); }

// WRITEs that are acknowledged by the box and by nobody else.
void hold_packets(Target& target, std::uint32_t held) {
  const Pair pair = attacker();
  target.connect(pair);
  for (std::uint32_t i = 0; i < held; ++i) target.send(Side::host, pair.write(wire::psn_add(kFirst, i)));
}

std::string_view packets_missed(const Counters& counters, std::uint32_t held, std::uint32_t) {
  return counters[Counter::pseudo_acks] < held ? "the packets are not in custody" : "";
}

AttackFrame repeat_ends(std::uint32_t number, std::uint32_t held) {
  return {Side::host, attacker().write(number % 2 == 0 ? kFirst : last_held(held))};
}

// Among the newest hundred, far from the head, in no order that a hint could foresee. The same hundred whatever is
// held: what the engine remembers of them then costs the same.
std::uint32_t scattered(std::uint32_t number, std::uint32_t held) {
  return wire::psn_add(last_held(held), -static_cast<std::int64_t>(number * 37 % 50 * 2));
}

AttackFrame repeat_anywhere(std::uint32_t number, std::uint32_t held) {
  return {Side::host, attacker().write(scattered(number, held))};
}

AttackFrame other_bytes(std::uint32_t number, std::uint32_t held) {
  return {Side::host, attacker().write(scattered(number, held), {.size = 68})};
}

AttackFrame ack_wrong_msn(std::uint32_t, std::uint32_t held) {
  return {Side::wan, attacker().ack(last_held(held), held + 5000)};
}

AttackFrame nak_wrong_msn(std::uint32_t, std::uint32_t held) {
  return {Side::wan, attacker().nak(last_held(held), held + 5000)};
}

AttackFrame undefined_nak(std::uint32_t, std::uint32_t held) {
  return {Side::wan, attacker().nak(last_held(held), held, 9)};
}

AttackFrame last_ack_again(std::uint32_t, std::uint32_t) { return {Side::wan, attacker().ack(kFirst - 1, 1)}; }

AttackFrame unasked_response(std::uint32_t number, std::uint32_t held) {
  return {Side::wan, attacker().answer("read_only", scattered(number, held), 1)};
}

AttackFrame middle_response(std::uint32_t number, std::uint32_t held) {
  return {Side::wan, attacker().answer("read_middle", scattered(number, held), 1)};
}

AttackFrame one_more_write(std::uint32_t number, std::uint32_t held) {
  return {Side::host, attacker().write(wire::psn_add(last_held(held), 1 + number))};
}

AttackFrame strange_psn(std::uint32_t number, std::uint32_t held) {
  return {Side::host, attacker().write(wire::psn_add(last_held(held), 100'000 + number))};
}

AttackFrame far_ack(std::uint32_t number, std::uint32_t held) {
  return {Side::wan, attacker().ack(wire::psn_add(last_held(held), 1 + number % 1000), held)};
}

AttackFrame cnp(std::uint32_t, std::uint32_t) { return {Side::wan, attacker().cnp()}; }

// ---- connections ------------------------------------------------------------------------------

void hold_connections(Target& target, std::uint32_t held) {
  for (std::uint32_t i = 0; i < held; ++i) target.connect(attacker(i));
}

std::string_view connections_missed(const Counters& counters, std::uint32_t held, std::uint32_t) {
  return counters[Counter::connections_learned] < held ? "the connections are not there" : "";
}

AttackFrame write_on_any(std::uint32_t number, std::uint32_t held) {
  const Pair pair = attacker(static_cast<std::uint32_t>(number * 2654435761ull % held));
  return {Side::host, pair.write(wire::psn_add(kFirst, number / held))};
}

AttackFrame repeated_rep(std::uint32_t number, std::uint32_t held) {
  const Pair pair = attacker(static_cast<std::uint32_t>(number * 2654435761ull % held));
  return {other(pair.active), pair.rep()};
}

AttackFrame forged_dreq(std::uint32_t number, std::uint32_t held) {
  Pair pair = attacker(static_cast<std::uint32_t>(number * 2654435761ull % held));
  pair.a_comm += 0x1000000;
  return {Side::host, pair.dreq(Side::host)};
}

// ---- connections that are not known -----------------------------------------------------------

AttackFrame unknown_qpn(std::uint32_t number, std::uint32_t) {
  Pair pair = attacker();
  pair.b_qpn = 0x10000 + number;
  return {Side::host, pair.write(number * 1000 & wire::kPsnMask)};
}

void hold_candidates(Target& target, std::uint32_t held) {
  for (std::uint32_t i = 0; i < held + 64; ++i) {
    const AttackFrame frame = unknown_qpn(i, held);
    target.send(frame.from, frame.bytes);
  }
}

// The places are taken.
std::string_view candidates_missed(const Counters& counters, std::uint32_t, std::uint32_t frames) {
  return counters[Counter::traffic_table_full] < frames ? "the table of candidates is not full" : "";
}

AttackFrame one_more_unknown(std::uint32_t number, std::uint32_t held) { return unknown_qpn(held + 64 + number, held); }

AttackFrame unknown_elsewhere(std::uint32_t number, std::uint32_t held) {
  Pair pair = attacker();
  pair.a_ip = fmt::format("10.{}.{}.{}", 67 + number / 65536, number / 256 % 256, number % 256);
  pair.b_qpn = 0x10000 + held + number;
  return {Side::host, pair.write(number * 1000 & wire::kPsnMask)};
}

AttackFrame ack_of_unknown(std::uint32_t number, std::uint32_t) {
  Pair pair = attacker();
  pair.a_qpn = 0x800000 + number;
  return {Side::wan, pair.ack(number * 1000 & wire::kPsnMask, 1)};
}

std::string_view nothing_missed(const Counters&, std::uint32_t, std::uint32_t) { return {}; }

// ---- RDMA-CM exchanges ------------------------------------------------------------------------

void hold_exchanges(Target& target, std::uint32_t held) {
  for (std::uint32_t i = 0; i < held + 64; ++i) target.send(Side::host, attacker(i).req());
}

AttackFrame one_more_req(std::uint32_t number, std::uint32_t held) {
  return {Side::host, attacker(held + 64 + number).req()};
}

std::string_view exchanges_missed(const Counters& counters, std::uint32_t held, std::uint32_t frames) {
  return counters[Counter::cm_messages] < held + frames ? "the REQs were not read" : "";
}

constexpr Attack kAttacks[] = {
    {"repeat_ends", "TCP's SegmentSmack (CVE-2018-5390): a walk for each repeat", hold_packets, repeat_ends,
     packets_missed},
    {"repeat_anywhere", "the same, at PSNs that no hint can foresee", hold_packets, repeat_anywhere, packets_missed},
    {"other_bytes", "the same, and each begins or widens a doubt", hold_packets, other_bytes, packets_missed},
    {"ack_wrong_msn", "TCP's SACK slowness (CVE-2019-11478): a walk for each ACK, and nothing is released",
     hold_packets, ack_wrong_msn, packets_missed},
    {"nak_wrong_msn", "the same by a NAK, which may count as a loss of the link", hold_packets, nak_wrong_msn,
     packets_missed},
    {"undefined_nak", "AETH codes that IBTA vol. 1, 9.7.5.2.4 does not define; each is a sign of life", hold_packets,
     undefined_nak, packets_missed},
    {"last_ack_again", "Sockstress (CVE-2008-4609): the peer lives, and nothing goes on", hold_packets, last_ack_again,
     packets_missed},
    {"unasked_response", "a READ response where custody has a WRITE: is it another connection's?", hold_packets,
     unasked_response, packets_missed},
    {"middle_response", "the same, within a READ", hold_packets, middle_response, packets_missed},
    {"strange_psn", "RFC 5042, 6.4: the path that is not optimized", hold_packets, strange_psn, packets_missed},
    {"far_ack", "an ACK for what was never sent", hold_packets, far_ack, packets_missed},
    {"cnp", "LoRDMA (NDSS 2024): congestion notifications cost their sender nothing", hold_packets, cnp,
     packets_missed},
    {"write_on_any", "Husky (NSDI 2023), cache attacks: each packet on another connection", hold_connections,
     write_on_any, connections_missed},
    {"repeated_rep", "RDMA-CM repeats a REP when the RTU is lost; each may announce another life", hold_connections,
     repeated_rep, connections_missed},
    {"forged_dreq", "DREQs with IDs that nobody has", hold_connections, forged_dreq, connections_missed},
    {"unknown_qpn", "RFC 4987: half-open connections, here by anybody's requests", hold_candidates, one_more_unknown,
     candidates_missed},
    {"unknown_elsewhere", "the same from an address of its own each", hold_candidates, unknown_elsewhere,
     nothing_missed},
    {"ack_of_unknown", "ACKs that fit one of many candidates, or none", hold_candidates, ack_of_unknown,
     nothing_missed},
    {"one_more_req", "a flood of REQs (RFC 4987): the oldest exchange makes room", hold_exchanges, one_more_req,
     exchanges_missed},
};

constexpr Attack kHoards[] = {
    {"one_more_write", "custody of WRITEs that nobody will ever answer", hold_packets, one_more_write, packets_missed},
};

}  // namespace

std::span<const Attack> attacks() { return kAttacks; }
std::span<const Attack> hoards() { return kHoards; }

void attack_from(std::uint8_t hosts) { hosts_of_attacker = hosts; }

void Target::connect(const test::Pair& pair) {
  const Side active = pair.active;
  send(active, pair.req());
  send(other(active), pair.rep());
  send(active, pair.rtu());
  send(Side::host, pair.write(pair.a_psn));
  send(Side::wan, pair.ack(pair.a_psn, 1));
}

}  // namespace longhaul::bench
