// SPDX-License-Identifier: BSD-3-Clause
// Builds RoCEv2 frames for tests, benchmarks and templates. Fluent: set what matters; build() fills in lengths, IPv4
// checksum, padding and ICRC.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/frame.hpp"

namespace longhaul::wire {

/// Usage: `PacketBuilder().ips("10.0.0.1",
/// "10.0.0.2").opcode(kRcWriteOnly).qpn(0x11).psn(7).ack_req().payload_size(512).build()`. Extended headers that the
/// opcode needs and that were not set are zero.
class PacketBuilder {
 public:
  PacketBuilder();  ///< from 10.0.0.1 to 10.0.0.2
  PacketBuilder& macs(const MacAddress& source, const MacAddress& destination);
  PacketBuilder& vlan(std::uint16_t tci, std::uint16_t ether_type = kEtherTypeVlan);  ///< outermost first
  PacketBuilder& ips(const std::string& source, const std::string& destination);      ///< both IPv4 or both IPv6
  PacketBuilder& ips(const IpAddress& source, const IpAddress& destination);
  PacketBuilder& tos(std::uint8_t tos);
  PacketBuilder& ttl(std::uint8_t ttl);
  PacketBuilder& ipv4_id(std::uint16_t identification);
  PacketBuilder& ipv4_options(std::vector<std::uint8_t> options);  ///< a multiple of 4, at most 40 bytes
  PacketBuilder& ipv6_flow_label(std::uint32_t flow_label);        ///< 20 bits
  PacketBuilder& udp_source_port(std::uint16_t port);
  PacketBuilder& udp_checksum(std::uint16_t checksum);  ///< written as it is; 0, the default: no checksum
  PacketBuilder& opcode(std::uint8_t opcode);
  PacketBuilder& p_key(std::uint16_t p_key);
  PacketBuilder& qpn(std::uint32_t destination_qpn);
  PacketBuilder& psn(std::uint32_t psn);
  PacketBuilder& ack_req(bool on = true);
  PacketBuilder& solicited(bool on = true);
  PacketBuilder& migreq(bool on = true);
  PacketBuilder& becn(bool on = true);
  PacketBuilder& reth(std::uint64_t virtual_address, std::uint32_t r_key, std::uint32_t dma_length);
  PacketBuilder& aeth(std::uint8_t syndrome, std::uint32_t msn);
  PacketBuilder& atomic_eth(std::uint64_t virtual_address, std::uint32_t r_key, std::uint64_t swap_or_add,
                            std::uint64_t compare);
  PacketBuilder& atomic_ack_eth(std::uint64_t original);
  PacketBuilder& imm_dt(std::uint32_t data);
  PacketBuilder& ieth(std::uint32_t r_key);
  PacketBuilder& deth(std::uint32_t q_key, std::uint32_t source_qpn);
  PacketBuilder& payload(std::span<const std::uint8_t> bytes);
  PacketBuilder& payload_size(std::size_t bytes, std::uint8_t first = 0);  ///< a counting pattern

  /// The finished frame without FCS. Throws std::invalid_argument when the parts do not fit together
  /// (mixed address families, extended header the opcode does not have, impossible sizes). An opcode that is not
  /// in the table is built without extended headers; more than two tags give a frame without an ICRC.
  std::vector<std::uint8_t> build() const;

 private:
  void check(const OpcodeInfo* info) const;
  void append_ethernet(std::vector<std::uint8_t>& frame) const;
  void append_ip(std::vector<std::uint8_t>& frame, std::size_t udp_length) const;
  void append_transport(std::vector<std::uint8_t>& frame, std::uint8_t extended, std::size_t pad) const;

  MacAddress source_mac_{0x02, 0, 0, 0, 0, 0x01};
  MacAddress destination_mac_{0x02, 0, 0, 0, 0, 0x02};
  struct Tag {
    std::uint16_t ether_type;
    std::uint16_t tci;
  };
  std::vector<Tag> tags_;
  IpAddress source_;
  IpAddress destination_;
  std::uint8_t tos_ = 0x02;  // ECT(0), as real stacks send
  std::uint8_t ttl_ = 64;
  std::uint16_t identification_ = 0;
  std::vector<std::uint8_t> options_;
  std::uint32_t flow_label_ = 0;
  std::uint16_t udp_source_port_ = 0xc000;
  std::uint16_t udp_checksum_ = 0;
  std::uint8_t opcode_ = kRcSendOnly;
  std::uint8_t flags_ = kBthMigReq;
  std::uint16_t p_key_ = 0xffff;
  std::uint32_t qpn_ = 0;
  std::uint32_t psn_ = 0;
  bool ack_req_ = false;
  bool becn_ = false;
  std::uint8_t given_ = 0;  // set of ExtendedHeader
  Reth reth_;
  Aeth aeth_{};
  AtomicEth atomic_eth_;
  AtomicAckEth atomic_ack_eth_;
  ImmDt imm_dt_;
  Ieth ieth_;
  Deth deth_{};
  std::vector<std::uint8_t> payload_;
};

}  // namespace longhaul::wire
