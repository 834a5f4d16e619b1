// SPDX-License-Identifier: BSD-3-Clause
#include "hosts.hpp"

#include "wire/builder.hpp"
#include "wire/cm.hpp"
#include "wire/udp_source_port.hpp"

namespace longhaul::test {

namespace {

wire::PacketBuilder towards(const Pair& pair, Side from) {
  wire::PacketBuilder builder;
  static constexpr wire::MacAddress kMacA{0x02, 0, 0, 0, 0, 0xaa};
  static constexpr wire::MacAddress kMacB{0x02, 0, 0, 0, 0, 0xbb};
  if (from == Side::host)
    builder.ips(pair.a_ip, pair.b_ip).macs(kMacA, kMacB).qpn(pair.b_qpn).udp_source_port(pair.a_port);
  else
    builder.ips(pair.b_ip, pair.a_ip).macs(kMacB, kMacA).qpn(pair.a_qpn).udp_source_port(pair.b_port);
  if (pair.vlan != 0) builder.vlan(pair.vlan);
  return builder;
}

Bytes cm(const Pair& pair, Side from, wire::CmMessage message) {
  message.transaction_id = pair.transaction;
  message.local_comm_id = from == Side::host ? pair.a_comm : pair.b_comm;
  message.remote_comm_id = from == Side::host ? pair.b_comm : pair.a_comm;
  Bytes mad(wire::kMadSize);
  wire::write_cm(message, std::span<std::uint8_t, wire::kMadSize>(mad));
  return towards(pair, from).opcode(wire::kUdSendOnly).qpn(wire::kGsiQpn).deth(0x80010000, 1).payload(mad).build();
}

wire::PacketBuilder& request_by(wire::PacketBuilder& requester, const std::string& opcode, std::uint32_t psn,
                                Pair::Extra extra) {
  return requester.opcode(opcode_named(opcode))
      .psn(psn)
      .ack_req(extra.ack_req)
      .payload_size(extra.size, static_cast<std::uint8_t>(psn));
}

}  // namespace

Bytes Pair::req() const {
  const bool by_host = active == Side::host;
  wire::CmMessage message;
  message.attribute = wire::CmAttribute::req;
  message.ece = offered;
  message.local_qpn = by_host ? a_qpn : b_qpn;
  // The first PSN of the REQ's receiver.
  message.starting_psn = by_host ? b_psn : a_psn;
  message.reliable_connected = true;
  message.path_mtu = path_mtu;
  message.retry_count = retry_count;
  message.local_ack_timeout = ack_timeout;
  Pair without = *this;
  (by_host ? without.b_comm : without.a_comm) = 0;
  return cm(without, active, message);
}

Bytes Pair::rep() const {
  const bool by_host = active == Side::wan;
  wire::CmMessage message;
  message.attribute = wire::CmAttribute::rep;
  message.ece = accepted;
  message.local_qpn = by_host ? a_qpn : b_qpn;
  message.starting_psn = by_host ? b_psn : a_psn;
  return cm(*this, other(active), message);
}

Bytes Pair::rtu() const { return cm(*this, active, {.attribute = wire::CmAttribute::rtu}); }
Bytes Pair::mra(Side from) const { return cm(*this, from, {.attribute = wire::CmAttribute::mra}); }
Bytes Pair::rej(Side from) const { return cm(*this, from, {.attribute = wire::CmAttribute::rej, .reject_reason = 28}); }
Bytes Pair::dreq(Side from) const {
  return cm(*this, from, {.attribute = wire::CmAttribute::dreq, .remote_qpn = from == Side::host ? b_qpn : a_qpn});
}
Bytes Pair::drep(Side from) const { return cm(*this, from, {.attribute = wire::CmAttribute::drep}); }

Bytes Pair::request(const std::string& opcode, std::uint32_t psn, Extra extra) const {
  wire::PacketBuilder requester = towards(*this, Side::host);
  return request_by(requester, opcode, psn, extra).build();
}

std::vector<Bytes> Pair::writes(std::uint32_t psn, std::uint32_t count, Extra extra) const {
  std::vector<Bytes> frames;
  for (std::uint32_t i = 0; i < count; ++i) frames.push_back(write(psn + i, extra));
  return frames;
}

Bytes Pair::write_again(std::uint32_t psn) const {
  wire::PacketBuilder requester = towards(*this, Side::host);
  requester.ipv4_id(77).udp_source_port(0xd123).tos(3);
  Bytes frame = request_by(requester, "write_only", psn, Extra{}).build();
  constexpr std::size_t kFecnByte = 4;  // in the BTH
  constexpr std::uint8_t kFecn = 0x80;
  wire::Frame parsed;
  wire::parse(frame, parsed);
  frame[parsed.bth_offset + kFecnByte] |= kFecn;
  return frame;
}

Bytes Pair::read(std::uint32_t psn, std::uint32_t bytes) const {
  return towards(*this, Side::host).opcode(wire::kRcReadRequest).psn(psn).ack_req().reth(0x1000, 0x77, bytes).build();
}

Bytes Pair::ack(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome) const {
  return towards(*this, Side::wan).opcode(wire::kRcAcknowledge).psn(psn).aeth(syndrome, msn).build();
}
Bytes Pair::nak(std::uint32_t psn, std::uint32_t msn, std::uint8_t code) const {
  return ack(psn, msn, static_cast<std::uint8_t>(0x60 | code));
}
Bytes Pair::rnr(std::uint32_t psn, std::uint32_t msn, std::uint8_t timer) const {
  return ack(psn, msn, static_cast<std::uint8_t>(0x20 | timer));
}

Bytes Pair::answer(const std::string& opcode, std::uint32_t psn, std::uint32_t msn, std::size_t size) const {
  const std::uint8_t code = opcode_named(opcode);
  auto builder = towards(*this, Side::wan);
  builder.opcode(code).psn(psn);
  if (opcode != "read_middle") builder.aeth(0x1f, msn);
  if (opcode != "atomic_answer") builder.payload_size(size);
  return builder.build();
}

Bytes Pair::cnp() const { return towards(*this, Side::wan).opcode(wire::kCnp).payload_size(16).build(); }
Bytes Pair::b_write(std::uint32_t psn) const {
  return towards(*this, Side::wan).opcode(wire::kRcWriteOnly).psn(psn).ack_req().payload_size(64).build();
}
Bytes Pair::a_ack(std::uint32_t psn, std::uint32_t msn) const {
  return towards(*this, Side::host).opcode(wire::kRcAcknowledge).psn(psn).aeth(0x1f, msn).build();
}

Pair with_derived_ports(Pair pair) {
  pair.a_port = pair.b_port = wire::derived_udp_source_port(pair.a_qpn, pair.b_qpn);
  return pair;
}

flow::ConnectionInfo info_of(const Pair& pair) {
  flow::ConnectionInfo info;
  info.end(Side::host) = {wire::IpAddress::parse(pair.a_ip), pair.a_qpn, pair.a_psn};
  info.end(Side::wan) = {wire::IpAddress::parse(pair.b_ip), pair.b_qpn, pair.b_psn};
  return info;
}

Bytes damaged(Bytes frame) {
  frame.back() ^= 0x01;
  return frame;
}

Pair pair_number(std::uint32_t n) {
  Pair pair;
  pair.a_qpn += n;
  pair.b_qpn += n;
  pair.a_comm += n;
  pair.b_comm += n;
  pair.transaction += n;
  return pair;
}

}  // namespace longhaul::test
