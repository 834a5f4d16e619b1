// SPDX-License-Identifier: BSD-3-Clause
// Header layouts of everything longhaul reads. Each struct lies directly over packet bytes
// (alignment 1, big-endian fields); sizes and offsets are asserted below.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/big_endian.hpp"

namespace longhaul::wire {

// ---- Ethernet, IEEE 802.3 / 802.1Q ----------------------------------------------------------

using MacAddress = std::array<std::uint8_t, 6>;

/// One station's: neither a group's nor none.
constexpr bool is_unicast(const MacAddress& mac) noexcept { return (mac[0] & 1) == 0 && mac != MacAddress{}; }

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeArp = 0x0806;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;  ///< 802.1Q customer tag
inline constexpr std::uint16_t kEtherTypeQinQ = 0x88a8;  ///< 802.1ad service tag

struct EthernetHeader {
  MacAddress destination;
  MacAddress source;
  Be16 ether_type;
};
static_assert(sizeof(EthernetHeader) == 14 && alignof(EthernetHeader) == 1);

/// The first two fields of a frame: its destination and source on this hop.
struct EthernetAddresses {
  MacAddress destination{};
  MacAddress source{};
  bool operator==(const EthernetAddresses&) const = default;
};
static_assert(sizeof(EthernetAddresses) == offsetof(EthernetHeader, ether_type));

/// Follows the EtherType 0x8100 or 0x88a8: tag control information and the next EtherType.
struct VlanTag {
  Be16 tci;  ///< PCP (3 bits), DEI (1), VID (12)
  Be16 ether_type;
};
static_assert(sizeof(VlanTag) == 4);

// ---- who has which address: RFC 826, RFC 4861 4.4 --------------------------------------------

inline constexpr std::uint16_t kArpEthernet = 1;  ///< hardware type
inline constexpr std::uint16_t kArpRequest = 1;
inline constexpr std::uint16_t kArpReply = 2;

/// ARP for IPv4 over Ethernet.
struct ArpPacket {
  Be16 hardware_type;
  Be16 protocol_type;
  std::uint8_t hardware_size;
  std::uint8_t protocol_size;
  Be16 operation;
  MacAddress sender_mac;
  std::array<std::uint8_t, 4> sender_ip;
  MacAddress target_mac;
  std::array<std::uint8_t, 4> target_ip;

  /// The fields before the addresses say that these are what they are taken for.
  bool is_ipv4_over_ethernet() const {
    return hardware_type == kArpEthernet && protocol_type == kEtherTypeIpv4 && hardware_size == sizeof(sender_mac) &&
           protocol_size == sizeof(sender_ip);
  }
};
static_assert(sizeof(ArpPacket) == 28 && offsetof(ArpPacket, target_ip) == 24);

inline constexpr std::uint8_t kNeighbourSolicitation = 135;  ///< ICMPv6 type
inline constexpr std::uint8_t kNeighbourAdvertisement = 136;
inline constexpr std::uint32_t kNeighbourSolicited = 1u << 30;  ///< in the flags of an advertisement
inline constexpr std::uint32_t kNeighbourOverride = 1u << 29;
inline constexpr std::uint8_t kSourceLinkLayerAddress = 1;  ///< option
inline constexpr std::uint8_t kTargetLinkLayerAddress = 2;
inline constexpr std::uint8_t kOnLinkHopLimit = 255;  ///< shows that no router has forwarded the packet

/// ICMPv6; options follow. A solicitation has the same fields, all of its flags reserved.
struct NeighbourAdvertisement {
  std::uint8_t type;
  std::uint8_t code;
  Be16 checksum;
  Be32 flags;  ///< router, solicited, override, reserved
  std::array<std::uint8_t, 16> target;
};
static_assert(sizeof(NeighbourAdvertisement) == 24);

// ---- IP and UDP, RFC 791, 8200, 768 -----------------------------------------------------------

inline constexpr std::uint8_t kIpProtocolTcp = 6;
inline constexpr std::uint8_t kIpProtocolUdp = 17;
inline constexpr std::uint8_t kIpProtocolIcmpv6 = 58;

struct Ipv4Header {
  std::uint8_t version_ihl;  ///< version (4 bits), header length in 32-bit words (4 bits)
  std::uint8_t tos;
  Be16 total_length;  ///< bytes, header included
  Be16 identification;
  Be16 flags_fragment;  ///< reserved, DF, MF, fragment offset (13 bits)
  std::uint8_t ttl;
  std::uint8_t protocol;
  Be16 checksum;
  std::array<std::uint8_t, 4> source;
  std::array<std::uint8_t, 4> destination;
};
static_assert(sizeof(Ipv4Header) == 20 && offsetof(Ipv4Header, checksum) == 10 && offsetof(Ipv4Header, source) == 12);

struct Ipv6Header {
  Be32 version_class_flow;  ///< version (4 bits), traffic class (8), flow label (20)
  Be16 payload_length;      ///< bytes after this header
  std::uint8_t next_header;
  std::uint8_t hop_limit;
  std::array<std::uint8_t, 16> source;
  std::array<std::uint8_t, 16> destination;
};
static_assert(sizeof(Ipv6Header) == 40 && offsetof(Ipv6Header, hop_limit) == 7 && offsetof(Ipv6Header, source) == 8);

inline constexpr std::uint16_t kRoceUdpPort = 4791;  ///< IANA, IBTA Annex A17

struct UdpHeader {
  Be16 source_port;
  Be16 destination_port;
  Be16 length;  ///< bytes, header included
  Be16 checksum;
};
static_assert(sizeof(UdpHeader) == 8 && offsetof(UdpHeader, checksum) == 6);

// ---- InfiniBand transport, IBTA vol. 1, chapter 9 ---------------------------------------------

/// Base transport header, 9.2.
struct Bth {
  std::uint8_t opcode;
  std::uint8_t flags;  ///< SE (1 bit), MigReq (1), pad count (2), transport version (4)
  Be16 p_key;
  std::uint8_t reserved;  ///< FECN, BECN and reserved bits: counted as ones in the ICRC
  Be24 destination_qpn;
  std::uint8_t ack_req;  ///< AckReq (top bit), 7 reserved bits
  Be24 psn;
};
static_assert(sizeof(Bth) == 12 && offsetof(Bth, reserved) == 4 && offsetof(Bth, destination_qpn) == 5 &&
              offsetof(Bth, ack_req) == 8 && offsetof(Bth, psn) == 9);

inline constexpr std::uint8_t kBthPadShift = 4;
inline constexpr std::uint8_t kBthPadMask = 0x30;
inline constexpr std::uint8_t kBthVersionMask = 0x0f;
inline constexpr std::uint8_t kBthSolicitedEvent = 0x80;
inline constexpr std::uint8_t kBthMigReq = 0x40;
inline constexpr std::uint8_t kBthAckReq = 0x80;
inline constexpr std::uint8_t kBthReservedMask = 0x3f;  ///< of the byte with FECN and BECN
inline constexpr std::uint8_t kBthBecn = 0x40;          ///< in Bth::reserved

/// The two ECN bits of an IP header's ToS or traffic class (RFC 3168).
inline constexpr std::uint8_t kEcnMask = 0x03;
inline constexpr std::uint8_t kEcnCongestion = 0x03;

/// RDMA extended transport header, 9.3.3 (RDMA WRITE and READ requests).
struct Reth {
  Be64 virtual_address;
  Be32 r_key;
  Be32 dma_length;  ///< bytes of the whole message
};
static_assert(sizeof(Reth) == 16 && offsetof(Reth, dma_length) == 12);

/// ACK extended transport header, 9.3.5.
struct Aeth {
  std::uint8_t syndrome;
  Be24 msn;
};
static_assert(sizeof(Aeth) == 4);

/// Atomic extended transport header, 9.3.4.
struct AtomicEth {
  Be64 virtual_address;
  Be32 r_key;
  Be64 swap_or_add;
  Be64 compare;
};
static_assert(sizeof(AtomicEth) == 28 && offsetof(AtomicEth, swap_or_add) == 12);

/// Atomic ACK extended transport header, 9.3.5.3: the value before the operation.
struct AtomicAckEth {
  Be64 original;
};
static_assert(sizeof(AtomicAckEth) == 8);

/// Immediate data, 9.3.6.
struct ImmDt {
  Be32 data;
};
static_assert(sizeof(ImmDt) == 4);

/// Invalidate extended transport header, 9.3.7 (SEND with invalidate).
struct Ieth {
  Be32 r_key;
};
static_assert(sizeof(Ieth) == 4);

/// Datagram extended transport header, 9.3.2.
struct Deth {
  Be32 q_key;
  std::uint8_t reserved;
  Be24 source_qpn;
};
static_assert(sizeof(Deth) == 8 && offsetof(Deth, source_qpn) == 5);

inline constexpr std::size_t kIcrcSize = 4;
inline constexpr std::uint32_t kGsiQpn = 1;  ///< QP1, the general services interface: RDMA-CM runs here

// ---- AETH syndromes, 9.7.5.2.1 and 9.7.5.2.8 --------------------------------------------------

enum class AethKind : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };

/// The kind of answer in bits 6..5 of a syndrome. Bit 7 is reserved and must be zero; a syndrome that has it set is
/// `reserved`.
constexpr AethKind aeth_kind(std::uint8_t syndrome) noexcept {
  return (syndrome & 0x80) != 0 ? AethKind::reserved : static_cast<AethKind>((syndrome >> 5) & 0x3);
}

/// Bits 4..0: the credit count of an ACK, the timer of an RNR NAK, the code of a NAK.
constexpr std::uint8_t aeth_value(std::uint8_t syndrome) noexcept { return syndrome & 0x1f; }

enum class NakCode : std::uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
  invalid_rd_request = 4,
};

constexpr std::uint8_t nak_syndrome(NakCode code) noexcept {
  return static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(code));
}

/// `timer`: five bits, the code of IBTA vol. 1, 9.7.5.2.8.
constexpr std::uint8_t rnr_syndrome(std::uint8_t timer) noexcept { return static_cast<std::uint8_t>(0x20 | timer); }

/// An ACK that says "no end-to-end credits": what real RoCE stacks send.
inline constexpr std::uint8_t kAckNoCredits = 0x1f;

}  // namespace longhaul::wire
