// SPDX-License-Identifier: BSD-3-Clause
#include "wire/neighbour.hpp"

#include <algorithm>
#include <cstring>

#include "wire/checksum.hpp"

namespace longhaul::wire {
namespace {

constexpr std::size_t kOptionUnit = 8;  ///< bytes; RFC 4861, 4.6

using Bytes = std::span<const std::uint8_t>;

/// The caller has checked that the bytes are there.
template <typename Header>
const Header& header_in(Bytes bytes) noexcept {
  static_assert(alignof(Header) == 1);
  return *reinterpret_cast<const Header*>(bytes.data());
}

constexpr bool is_multicast(const std::array<std::uint8_t, 16>& ipv6) noexcept { return ipv6[0] == 0xff; }

/// As IpAddress::from_ipv4(). One more caller of that, and it would no longer be inlined in parse(), which handles each
/// frame.
IpAddress ipv4(const std::array<std::uint8_t, 4>& octets) noexcept {
  IpAddress address;
  address.bytes[10] = address.bytes[11] = 0xff;
  std::ranges::copy(octets, address.bytes.begin() + 12);
  return address;
}

std::optional<Neighbour> parse_arp(Bytes bytes) noexcept {
  if (bytes.size() < sizeof(ArpPacket)) return std::nullopt;
  const auto& arp = header_in<ArpPacket>(bytes);
  if (!arp.is_ipv4_over_ethernet() || (arp.operation != kArpRequest && arp.operation != kArpReply)) return std::nullopt;
  const bool probe = arp.sender_ip == std::array<std::uint8_t, 4>{};
  if (probe || !is_unicast(arp.sender_mac)) return std::nullopt;
  Neighbour said;
  said.ip = ipv4(arp.sender_ip);
  said.mac = arp.sender_mac;
  said.announced = arp.operation == kArpReply || arp.sender_ip == arp.target_ip;
  return said;
}

/// RFC 1071, over the message with its checksum in place and the pseudo-header of RFC 8200, 8.1.
bool icmpv6_checksum_good(const Ipv6Header& ip, Bytes message) noexcept {
  const std::uint64_t pseudo = pseudo_header_sum(IpAddress::from_ipv6(ip.source), IpAddress::from_ipv6(ip.destination),
                                                 kIpProtocolIcmpv6, message.size());
  return internet_checksum(pseudo + internet_sum(message)) == 0;
}

/// The target's link-layer address; nothing when an option has length 0 or goes beyond the message, or when there is no
/// such option.
std::optional<MacAddress> target_address(Bytes options) noexcept {
  std::optional<MacAddress> mac;
  while (!options.empty()) {
    if (options.size() < 2) return std::nullopt;
    const std::size_t size = options[1] * kOptionUnit;
    if (size == 0 || size > options.size()) return std::nullopt;
    if (options[0] == kTargetLinkLayerAddress && size == kOptionUnit) {
      mac.emplace();
      std::copy_n(options.begin() + 2, mac->size(), mac->begin());
    }
    options = options.subspan(size);
  }
  return mac;
}

std::optional<Neighbour> parse_advertisement(Bytes bytes) noexcept {
  if (bytes.size() < sizeof(Ipv6Header)) return std::nullopt;
  const auto& ip = header_in<Ipv6Header>(bytes);
  if (ip.version_class_flow >> 28 != 6 || ip.next_header != kIpProtocolIcmpv6 || ip.hop_limit != kOnLinkHopLimit)
    return std::nullopt;
  bytes = bytes.subspan(sizeof(Ipv6Header));
  if (ip.payload_length > bytes.size() || ip.payload_length < sizeof(NeighbourAdvertisement)) return std::nullopt;
  const Bytes message = bytes.first(ip.payload_length);
  const auto& advertisement = header_in<NeighbourAdvertisement>(message);
  if (advertisement.type != kNeighbourAdvertisement || advertisement.code != 0) return std::nullopt;
  const std::uint32_t flags = advertisement.flags;
  if (is_multicast(advertisement.target)) return std::nullopt;
  if (is_multicast(ip.destination) && (flags & kNeighbourSolicited) != 0) return std::nullopt;
  const auto mac = target_address(message.subspan(sizeof(NeighbourAdvertisement)));
  if (!mac || !is_unicast(*mac) || !icmpv6_checksum_good(ip, message)) return std::nullopt;
  Neighbour said;
  said.ip = IpAddress::from_ipv6(advertisement.target);
  if (said.ip.is_ipv4()) return std::nullopt;  // as in parse(): ::ffff:a.b.c.d stands for IPv4
  said.mac = *mac;
  said.announced = true;
  said.overrides = (flags & kNeighbourOverride) != 0;
  return said;
}

}  // namespace

std::optional<Neighbour> parse_neighbour(Bytes frame) noexcept {
  constexpr std::uint32_t kMaxVlanTags = 2;
  if (frame.size() < sizeof(EthernetHeader)) return std::nullopt;
  std::uint16_t ether_type = header_in<EthernetHeader>(frame).ether_type;
  Bytes rest = frame.subspan(sizeof(EthernetHeader));
  std::uint32_t tags = 0;
  VlanKey vlan;
  while (ether_type == kEtherTypeVlan || ether_type == kEtherTypeQinQ) {
    if (tags == kMaxVlanTags || rest.size() < sizeof(VlanTag)) return std::nullopt;
    const auto& tag = header_in<VlanTag>(rest);
    vlan.add(tag.tci);
    ether_type = tag.ether_type;
    rest = rest.subspan(sizeof(VlanTag));
    ++tags;
  }
  std::optional<Neighbour> said;
  if (ether_type == kEtherTypeArp)
    said = parse_arp(rest);
  else if (ether_type == kEtherTypeIpv6)
    said = parse_advertisement(rest);
  if (said) said->vlan = vlan;
  return said;
}

}  // namespace longhaul::wire
