// SPDX-License-Identifier: BSD-3-Clause
// One Ethernet frame, checked and taken apart: every length is compared with the bytes that are there before anything
// is read, so the headers of a parsed Frame are safe to use.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "wire/headers.hpp"
#include "wire/opcode.hpp"

namespace longhaul::wire {

/// An IPv4 or IPv6 address in 16 bytes; IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  bool is_ipv4() const noexcept;
  /// One machine may have it, or send from it: not a group's, nor unspecified; of IPv4, not a loop's.
  bool is_a_machines() const noexcept;
  bool operator==(const IpAddress&) const = default;

  static IpAddress from_ipv4(const std::array<std::uint8_t, 4>& octets) noexcept;
  static IpAddress from_ipv6(const std::array<std::uint8_t, 16>& octets) noexcept;
  /// Parses "10.9.0.1" or "fd00::1". Throws std::invalid_argument naming the text.
  static IpAddress parse(const std::string& text);
  std::string to_string() const;
};

// Each frame makes two. Left to itself, the compiler calls it in some programs.
[[gnu::always_inline]] inline IpAddress IpAddress::from_ipv4(const std::array<std::uint8_t, 4>& octets) noexcept {
  // One store of 16 bytes: code that copies or hashes the address right away would stall on smaller stores.
  typedef std::uint64_t Halves __attribute__((vector_size(16)));
  std::uint64_t low_half = 0;  // in memory order: 00 00 ff ff a b c d
  const std::uint8_t mapped[8] = {0, 0, 0xff, 0xff, octets[0], octets[1], octets[2], octets[3]};
  std::memcpy(&low_half, mapped, sizeof(low_half));
  const Halves halves = {0, low_half};
  IpAddress address;
  std::memcpy(address.bytes.data(), &halves, sizeof(halves));
  return address;
}

/// The VLAN IDs of a frame as one number that tells tenants apart: (number of tags, outer VID, inner VID). A tag with
/// VID 0 gives a priority and no VLAN (802.1Q, 6.9): switches and NICs add and remove it as they like, in one direction
/// only too, so it does not count.
struct VlanKey {
  std::uint32_t value = 0;
  /// The next tag, outermost first, by its tag control information. Two at most. Each frame that is parsed needs it.
  [[gnu::always_inline]] void add(std::uint16_t tci) noexcept {
    constexpr unsigned kTagShift = 24;
    const std::uint32_t vid = tci & kVid;
    if (vid == 0) return;
    value += (1U << kTagShift) | (value == 0 ? vid << kOuterShift : vid);
  }
  /// VIDs; 0 where there is no such tag.
  std::uint16_t outer() const noexcept { return static_cast<std::uint16_t>(value >> kOuterShift & kVid); }
  std::uint16_t inner() const noexcept { return static_cast<std::uint16_t>(value & kVid); }
  bool operator==(const VlanKey&) const = default;

 private:
  static constexpr unsigned kOuterShift = 12;
  static constexpr std::uint32_t kVid = 0xfff;
};

/// What parse() found. `roce` is the only one whose Frame may be used beyond its raw bytes;
/// each of the others is the name of a counter, and the frame passes through.
enum class ParseStatus : std::uint8_t {
  roce,
  too_short_ethernet,  ///< fewer than 14 bytes, or cut inside a VLAN tag
  too_many_vlan_tags,  ///< more than two
  not_ip,              ///< another EtherType (ARP, LACP, LLDP, STP, ...)
  too_short_ip,        ///< cut inside the IP header
  bad_ip_header,       ///< version, header length or total length is impossible, or IPv6 carries an IPv4-mapped address
  ip_length_beyond_frame,  ///< the IP length promises more bytes than the frame has
  ip_fragment,
  not_udp,  ///< another protocol, or IPv6 extension headers before UDP
  too_short_udp,
  bad_udp_length,  ///< UDP length disagrees with the IP length
  not_roce_port,
  too_short_bth,  ///< no room for BTH and ICRC
  bad_bth_version,
  unknown_opcode,      ///< BTH is valid: Frame::bth() may be used, but nothing behind it
  too_short_extended,  ///< no room for the opcode's extended headers
  bad_pad_count,       ///< pad count exceeds the payload, or pads an opcode that has none
  unexpected_payload,  ///< bytes after an opcode that carries none
  bad_payload_size,    ///< payload plus padding is not a multiple of four
  // RoCEv2 in what is not taken apart (encapsulation.hpp): counted in place of the reason above.
  roce_in_vxlan,
  roce_in_mpls,
  roce_in_gre,
  roce_in_tags,       ///< more than two VLAN tags
  roce_in_fragments,  ///< the first fragment of an IP packet; the others do not tell
};
inline constexpr std::size_t kParseStatusCount = static_cast<std::size_t>(ParseStatus::roce_in_fragments) + 1;

/// parse() found a BTH, and so the addresses, the destination QP, the PSN and the place of the ICRC.
constexpr bool is_roce(ParseStatus status) noexcept {
  return status == ParseStatus::roce || status == ParseStatus::unknown_opcode;
}

/// The counter name of a status: lower case with underscores, e.g. "parse_too_short_bth".
std::string_view name_of(ParseStatus status) noexcept;

/// A view into one frame's bytes; offsets count from the first byte of the Ethernet header.
/// Valid as long as the bytes are.
struct Frame {
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;              ///< bytes of the frame, trailing Ethernet padding included
  const OpcodeInfo* opcode = nullptr;  ///< nullptr when unknown
  VlanKey vlan;
  IpAddress source;
  IpAddress destination;
  std::uint16_t ip_offset = 0;
  std::uint16_t udp_offset = 0;
  std::uint16_t bth_offset = 0;
  std::uint16_t payload_offset = 0;  ///< after the extended headers
  std::uint16_t payload_size = 0;    ///< bytes, padding not included
  std::uint16_t icrc_offset = 0;     ///< where the IP length says the ICRC stands
  bool ipv6 = false;

  /// In host byte order.
  std::uint16_t udp_source_port() const noexcept { return at<UdpHeader>(udp_offset).source_port; }
  const Bth& bth() const noexcept { return at<Bth>(bth_offset); }
  // Each 24-bit field is loaded as one word together with the byte before it.
  std::uint32_t psn() const noexcept { return at<Be32>(bth_offset + offsetof(Bth, ack_req)) & kLow24; }
  std::uint32_t destination_qpn() const noexcept { return at<Be32>(bth_offset + offsetof(Bth, reserved)) & kLow24; }
  /// For an unknown opcode, only RC is told apart from the others.
  Service service() const noexcept {
    if (opcode != nullptr) return opcode->service;
    constexpr unsigned kServiceShift = 5;
    return bth().opcode >> kServiceShift == static_cast<unsigned>(Service::rc) ? Service::rc : Service::other;
  }
  bool ack_req() const noexcept { return (bth().ack_req & kBthAckReq) != 0; }
  /// A SEND or WRITE with AckReq: a pseudo-ACK can answer it. Only for requests.
  bool asks_for_ack() const noexcept { return opcode != nullptr && ack_req() && !opcode->wants_response(); }
  /// ToS of IPv4, traffic class of IPv6.
  std::uint8_t traffic_class() const noexcept {
    return ipv6 ? static_cast<std::uint8_t>((data[ip_offset] << 4) | (data[ip_offset + 1] >> 4)) : data[ip_offset + 1];
  }
  /// A queue on the way has marked it (ECN).
  bool congestion_experienced() const noexcept { return (traffic_class() & kEcnMask) == kEcnCongestion; }
  /// Bytes up to and including the ICRC, as the IP length gives them.
  std::uint32_t roce_size() const noexcept { return icrc_offset + static_cast<std::uint32_t>(kIcrcSize); }

  // Only for headers that the opcode has, see opcode->has().
  const Deth& deth() const noexcept { return at<Deth>(extended_offset(kHasDeth)); }
  const Reth& reth() const noexcept { return at<Reth>(extended_offset(kHasReth)); }
  const AtomicEth& atomic_eth() const noexcept { return at<AtomicEth>(extended_offset(kHasAtomicEth)); }
  const Aeth& aeth() const noexcept { return at<Aeth>(extended_offset(kHasAeth)); }
  const AtomicAckEth& atomic_ack_eth() const noexcept { return at<AtomicAckEth>(extended_offset(kHasAtomicAckEth)); }
  const ImmDt& imm_dt() const noexcept { return at<ImmDt>(extended_offset(kHasImmDt)); }
  const Ieth& ieth() const noexcept { return at<Ieth>(extended_offset(kHasIeth)); }

  std::span<const std::uint8_t> payload() const noexcept { return {data + payload_offset, payload_size}; }

  /// Offset of an extended header that the opcode has.
  std::uint16_t extended_offset(ExtendedHeader header) const noexcept {
    const auto before = static_cast<std::uint8_t>(opcode->extended & (header - 1));
    return static_cast<std::uint16_t>(bth_offset + sizeof(Bth) + kExtendedSizes[before]);
  }

 private:
  static constexpr std::uint32_t kLow24 = 0xffffff;

  template <typename Header>
  const Header& at(std::size_t offset) const noexcept {
    static_assert(alignof(Header) == 1);
    return *reinterpret_cast<const Header*>(data + offset);
  }
};

/// Takes `bytes` apart into `out`. Never reads beyond `bytes`, never throws. `out` is complete when the
/// status is `roce`, complete up to the BTH when it is `unknown_opcode`, and otherwise not to be used.
/// The ICRC is located, not verified (icrc.hpp).
ParseStatus parse(std::span<const std::uint8_t> bytes, Frame& out) noexcept;

/// The sum of the 32-bit words of an IPv4 header of `size` bytes, which is a multiple of four and at least 20.
[[gnu::always_inline]] inline std::uint64_t ipv4_words_sum(const std::uint8_t* ip, std::size_t size) noexcept {
  const auto word_at = [ip](std::size_t offset) {
    std::uint32_t word = 0;
    std::memcpy(&word, ip + offset, sizeof(word));
    return std::uint64_t{word};
  };
  std::uint64_t sum = word_at(0) + word_at(4) + word_at(8) + word_at(12) + word_at(16);
  for (std::size_t at = sizeof(Ipv4Header); at < size; at += 4) sum += word_at(at);
  return sum;
}
/// The sum with the checksum in it is 0xffff in any byte order (RFC 1071). To add carries back in is arithmetic modulo
/// 0xffff, where 0xffff is 0, and not all bytes are 0. A remainder by a constant takes no division.
constexpr bool is_ipv4_sum_good(std::uint64_t sum) noexcept { return sum % 0xffff == 0; }

/// The IPv4 header checksum is right; always true for IPv6, which has none. The ICRC does not cover ToS, TTL and
/// checksum: a frame damaged there has a good ICRC, but the next router or host drops it.
inline bool verify_ipv4_checksum(const Frame& frame) noexcept {
  const std::size_t size = std::size_t{frame.udp_offset} - frame.ip_offset;
  return frame.ipv6 || is_ipv4_sum_good(ipv4_words_sum(frame.data + frame.ip_offset, size));
}

/// The checksum (RFC 791) of the IPv4 header in `header`, options included, the checksum field counted as zero.
std::uint16_t ipv4_checksum(std::span<const std::uint8_t> header) noexcept;

}  // namespace longhaul::wire
