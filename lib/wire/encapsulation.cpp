// SPDX-License-Identifier: BSD-3-Clause
#include "wire/encapsulation.hpp"

#include <cstddef>
#include <optional>

#include "wire/headers.hpp"

namespace longhaul::wire {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint16_t kEtherTypeMpls = 0x8847;           // RFC 3032
constexpr std::uint16_t kEtherTypeMplsMulticast = 0x8848;  // since RFC 5332: upstream-assigned labels
constexpr std::uint16_t kEtherTypeBridged = 0x6558;        // Ethernet in GRE (RFC 7637)
constexpr std::uint8_t kIpProtocolGre = 47;
constexpr std::uint8_t kIpProtocolFragment = 44;  // IPv6 fragment header, RFC 8200, 4.5
constexpr std::size_t kMostTags = 8;
constexpr std::size_t kMostLabels = 8;

/// The bytes behind the first `count`; empty when there are not so many.
Bytes behind(Bytes bytes, std::size_t count) noexcept { return bytes.size() < count ? Bytes{} : bytes.subspan(count); }

template <typename Header>
const Header* view(Bytes bytes) noexcept {
  static_assert(alignof(Header) == 1);
  return bytes.size() < sizeof(Header) ? nullptr : reinterpret_cast<const Header*>(bytes.data());
}

/// What an IP packet carries.
struct Content {
  Bytes bytes;
  std::uint8_t protocol;
  bool fragment;  ///< the first one
};

std::optional<Content> content_of_ipv4(Bytes packet) noexcept {
  constexpr std::uint16_t kOffset = 0x1fff;
  constexpr std::uint16_t kMoreFragments = 0x2000;
  const auto* ip = view<Ipv4Header>(packet);
  const std::size_t size = ip == nullptr ? 0 : std::size_t{4} * (ip->version_ihl & 0x0fU);
  if (size < sizeof(Ipv4Header) || (ip->flags_fragment & kOffset) != 0) return std::nullopt;
  return Content{behind(packet, size), ip->protocol, (ip->flags_fragment & kMoreFragments) != 0};
}

std::optional<Content> content_of_ipv6(Bytes packet) noexcept {
  struct FragmentHeader {
    std::uint8_t next_header;
    std::uint8_t reserved;
    Be16 offset_and_more;  ///< offset (13 bits), reserved (2), more fragments (1)
    Be32 identification;
  };
  constexpr std::uint16_t kOffset = 0xfff8;
  const auto* ip = view<Ipv6Header>(packet);
  if (ip == nullptr) return std::nullopt;
  const Bytes rest = behind(packet, sizeof(Ipv6Header));
  if (ip->next_header != kIpProtocolFragment) return Content{rest, ip->next_header, false};
  const auto* fragment = view<FragmentHeader>(rest);
  if (fragment == nullptr || (fragment->offset_and_more & kOffset) != 0) return std::nullopt;
  return Content{behind(rest, sizeof(FragmentHeader)), fragment->next_header, true};
}

/// Nothing when it is no IP packet, or a fragment without the beginning.
std::optional<Content> content_of_ip(Bytes packet) noexcept {
  if (packet.empty()) return std::nullopt;
  switch (packet[0] >> 4) {
    case 4:
      return content_of_ipv4(packet);
    case 6:
      return content_of_ipv6(packet);
    default:
      return std::nullopt;
  }
}

bool is_udp_to(const Content& content, std::uint16_t port) noexcept {
  const auto* udp = view<UdpHeader>(content.bytes);
  return content.protocol == kIpProtocolUdp && udp != nullptr && udp->destination_port == port;
}

bool is_roce_in_ip(Bytes packet) noexcept {
  const auto content = content_of_ip(packet);
  return content && is_udp_to(*content, kRoceUdpPort);
}

/// Skips VLAN tags.
struct Ethernet {
  std::uint16_t ether_type = 0;
  std::size_t tags = 0;
  Bytes rest;
};

Ethernet skip_ethernet(Bytes frame) noexcept {
  Ethernet out;
  const auto* header = view<EthernetHeader>(frame);
  if (header == nullptr) return out;
  out.ether_type = header->ether_type;
  out.rest = behind(frame, sizeof(EthernetHeader));
  while (out.ether_type == kEtherTypeVlan || out.ether_type == kEtherTypeQinQ) {
    const auto* tag = view<VlanTag>(out.rest);
    if (tag == nullptr || out.tags == kMostTags) return {};
    out.ether_type = tag->ether_type;
    out.rest = behind(out.rest, sizeof(VlanTag));
    ++out.tags;
  }
  return out;
}

bool is_ip(std::uint16_t ether_type) noexcept { return ether_type == kEtherTypeIpv4 || ether_type == kEtherTypeIpv6; }

bool is_roce_in_ethernet(Bytes frame) noexcept {
  const Ethernet inner = skip_ethernet(frame);
  return is_ip(inner.ether_type) && is_roce_in_ip(inner.rest);
}

/// Labels do not say what they carry: IP by its version (RFC 4928), or Ethernet with a control word (RFC 4448), or
/// without.
bool is_roce_in_mpls(Bytes labels) noexcept {
  constexpr std::size_t kLabel = 4;
  constexpr std::uint8_t kBottom = 0x01;  // of the third byte
  for (std::size_t i = 0; i < kMostLabels && labels.size() >= kLabel; ++i) {
    const bool bottom = (labels[2] & kBottom) != 0;
    labels = labels.subspan(kLabel);
    if (!bottom) continue;
    constexpr std::size_t kControlWord = 4;
    return is_roce_in_ip(labels) || is_roce_in_ethernet(behind(labels, kControlWord)) || is_roce_in_ethernet(labels);
  }
  return false;
}

/// RFC 2784 and 2890.
bool is_roce_in_gre(Bytes packet) noexcept {
  constexpr std::uint8_t kChecksum = 0x80, kKey = 0x20, kSequence = 0x10, kVersion = 0x07;
  constexpr std::size_t kHeader = 4, kOption = 4;
  if (packet.size() < kHeader || (packet[1] & kVersion) != 0) return false;
  std::size_t size = kHeader;
  for (const std::uint8_t option : {kChecksum, kKey, kSequence})
    if ((packet[0] & option) != 0) size += kOption;
  const auto type = static_cast<std::uint16_t>(packet[2] << 8 | packet[3]);
  const Bytes inner = behind(packet, size);
  if (type == kEtherTypeBridged) return is_roce_in_ethernet(inner);
  if (type == kEtherTypeMpls) return is_roce_in_mpls(inner);
  return is_ip(type) && is_roce_in_ip(inner);
}

bool is_roce_in_vxlan(Bytes udp) noexcept {
  constexpr std::uint8_t kHasId = 0x08;
  constexpr std::size_t kHeader = 8;
  const Bytes vxlan = behind(udp, sizeof(UdpHeader));
  return vxlan.size() >= kHeader && (vxlan[0] & kHasId) != 0 && is_roce_in_ethernet(vxlan.subspan(kHeader));
}

}  // namespace

ParseStatus look_inside(Bytes frame, ParseStatus plain) noexcept {
  const Ethernet outer = skip_ethernet(frame);
  if (outer.ether_type == kEtherTypeMpls || outer.ether_type == kEtherTypeMplsMulticast)
    return is_roce_in_mpls(outer.rest) ? ParseStatus::roce_in_mpls : plain;
  if (!is_ip(outer.ether_type)) return plain;
  if (plain == ParseStatus::too_many_vlan_tags) return is_roce_in_ip(outer.rest) ? ParseStatus::roce_in_tags : plain;
  const auto content = content_of_ip(outer.rest);
  if (!content) return plain;
  if (content->fragment) return is_udp_to(*content, kRoceUdpPort) ? ParseStatus::roce_in_fragments : plain;
  if (content->protocol == kIpProtocolGre && is_roce_in_gre(content->bytes)) return ParseStatus::roce_in_gre;
  if (is_udp_to(*content, kVxlanUdpPort) && is_roce_in_vxlan(content->bytes)) return ParseStatus::roce_in_vxlan;
  return plain;
}

}  // namespace longhaul::wire
