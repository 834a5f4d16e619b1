// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.hpp"

#include <cstring>
#include <limits>
#include <optional>

#include "wire/checksum.hpp"
#include "wire/encapsulation.hpp"

namespace longhaul::wire {
namespace {

constexpr std::array<std::string_view, kParseStatusCount> kStatusNames = {
    "parse_roce",          "parse_too_short_ethernet", "parse_too_many_vlan_tags",     "parse_not_ip",
    "parse_too_short_ip",  "parse_bad_ip_header",      "parse_ip_length_beyond_frame", "parse_ip_fragment",
    "parse_not_udp",       "parse_too_short_udp",      "parse_bad_udp_length",         "parse_not_roce_port",
    "parse_too_short_bth", "parse_bad_bth_version",    "parse_unknown_opcode",         "parse_too_short_extended",
    "parse_bad_pad_count", "parse_unexpected_payload", "parse_bad_payload_size",       "parse_roce_in_vxlan",
    "parse_roce_in_mpls",  "parse_roce_in_gre",        "parse_roce_in_tags",           "parse_roce_in_fragments",
};
static_assert(kStatusNames.back() == "parse_roce_in_fragments");

constexpr std::size_t kMaxVlanTags = 2;
constexpr std::uint16_t kMoreFragmentsOrOffset = 0x3fff;

// Usual frames go through one function that needs no stack. Without this, inlining would depend on the rest of the
// program.
#define LONGHAUL_IN_LINE [[gnu::always_inline]] inline

/// The bytes at `offset` as a header. The caller has checked that they are there.
template <typename Header>
const Header& view(const std::uint8_t* data, std::size_t offset) noexcept {
  static_assert(alignof(Header) == 1);
  return *reinterpret_cast<const Header*>(data + offset);
}

/// The state of parsing: the next header begins at `offset`, and its data ends before `end`. `end` never exceeds the
/// frame; the IP length lowers it to leave Ethernet padding out.
struct Cursor {
  std::size_t offset = 0;
  std::size_t end = 0;

  bool has(std::size_t bytes) const noexcept { return end - offset >= bytes; }
};

constexpr bool is_vlan(std::uint16_t ether_type) noexcept {
  return ether_type == kEtherTypeVlan || ether_type == kEtherTypeQinQ;
}

/// A frame that is not taken further, for the reason `plain`: what is in it?
[[gnu::cold, gnu::noinline]] ParseStatus inside(const Frame& out, ParseStatus plain) noexcept {
  return look_inside({out.data, out.size}, plain);
}

ParseStatus not_udp(const Frame& out, std::uint8_t protocol) noexcept {
  return protocol == kIpProtocolTcp ? ParseStatus::not_udp : inside(out, ParseStatus::not_udp);
}

/// Ethernet header and tags; sets `ether_type` to that of the packet inside.
ParseStatus parse_ethernet(Frame& out, Cursor& at, std::uint16_t& ether_type) noexcept {
  if (!at.has(sizeof(EthernetHeader))) return ParseStatus::too_short_ethernet;
  ether_type = view<EthernetHeader>(out.data, at.offset).ether_type;
  at.offset += sizeof(EthernetHeader);
  std::uint32_t tags = 0;
  out.vlan = {};
  while (is_vlan(ether_type)) {
    if (tags == kMaxVlanTags) return ParseStatus::too_many_vlan_tags;
    if (!at.has(sizeof(VlanTag))) return ParseStatus::too_short_ethernet;
    const auto& tag = view<VlanTag>(out.data, at.offset);
    out.vlan.add(tag.tci);
    ether_type = tag.ether_type;
    at.offset += sizeof(VlanTag);
    ++tags;
  }
  return ParseStatus::roce;
}

/// Narrows the cursor to the `size` bytes of an IP packet.
ParseStatus limit_to(Cursor& at, std::size_t size) noexcept {
  if (!at.has(size)) return ParseStatus::ip_length_beyond_frame;
  at.end = at.offset + size;
  // Frame keeps offsets in 16 bits; no Ethernet frame is that long.
  if (at.end > std::numeric_limits<std::uint16_t>::max()) return ParseStatus::bad_ip_header;
  return ParseStatus::roce;
}

ParseStatus parse_ipv4(Frame& out, Cursor& at) noexcept {
  if (!at.has(sizeof(Ipv4Header))) return ParseStatus::too_short_ip;
  const auto& ip = view<Ipv4Header>(out.data, at.offset);
  const std::size_t header_size = std::size_t{4} * (ip.version_ihl & 0x0fU);
  if (ip.version_ihl >> 4 != 4 || header_size < sizeof(Ipv4Header) || ip.total_length < header_size)
    return ParseStatus::bad_ip_header;
  if (!at.has(header_size)) return ParseStatus::too_short_ip;
  if (const auto status = limit_to(at, ip.total_length); status != ParseStatus::roce) return status;
  if ((ip.flags_fragment & kMoreFragmentsOrOffset) != 0) return inside(out, ParseStatus::ip_fragment);
  if (ip.protocol != kIpProtocolUdp) return not_udp(out, ip.protocol);
  out.ipv6 = false;
  out.source = IpAddress::from_ipv4(ip.source);
  out.destination = IpAddress::from_ipv4(ip.destination);
  at.offset += header_size;
  return ParseStatus::roce;
}

ParseStatus parse_ipv6(Frame& out, Cursor& at) noexcept {
  if (!at.has(sizeof(Ipv6Header))) return ParseStatus::too_short_ip;
  const auto& ip = view<Ipv6Header>(out.data, at.offset);
  if (ip.version_class_flow >> 28 != 6) return ParseStatus::bad_ip_header;
  if (const auto status = limit_to(at, sizeof(Ipv6Header) + ip.payload_length); status != ParseStatus::roce)
    return status;
  if (ip.next_header != kIpProtocolUdp) return not_udp(out, ip.next_header);
  out.ipv6 = true;
  out.source = IpAddress::from_ipv6(ip.source);
  out.destination = IpAddress::from_ipv6(ip.destination);
  // ::ffff:a.b.c.d stands for IPv4 in IpAddress, so an IPv6 packet must not have it: it would match another host's
  // flow.
  if (out.source.is_ipv4() || out.destination.is_ipv4()) return ParseStatus::bad_ip_header;
  at.offset += sizeof(Ipv6Header);
  return ParseStatus::roce;
}

ParseStatus parse_udp(Frame& out, Cursor& at) noexcept {
  if (!at.has(sizeof(UdpHeader))) return ParseStatus::too_short_udp;
  const auto& udp = view<UdpHeader>(out.data, at.offset);
  if (udp.length != at.end - at.offset) return ParseStatus::bad_udp_length;
  if (udp.destination_port != kRoceUdpPort)
    return udp.destination_port == kVxlanUdpPort ? inside(out, ParseStatus::not_roce_port) : ParseStatus::not_roce_port;
  out.udp_offset = static_cast<std::uint16_t>(at.offset);
  at.offset += sizeof(UdpHeader);
  return ParseStatus::roce;
}

/// BTH and ICRC, for which there is room.
LONGHAUL_IN_LINE ParseStatus parse_bth(Frame& out, Cursor& at) noexcept {
  at.end -= kIcrcSize;
  out.bth_offset = static_cast<std::uint16_t>(at.offset);
  out.icrc_offset = static_cast<std::uint16_t>(at.end);
  at.offset += sizeof(Bth);
  out.payload_offset = static_cast<std::uint16_t>(at.offset);
  out.payload_size = 0;
  if ((out.bth().flags & kBthVersionMask) != 0) return ParseStatus::bad_bth_version;
  out.opcode = find_opcode(out.bth().opcode);
  return out.opcode == nullptr ? ParseStatus::unknown_opcode : ParseStatus::roce;
}

/// Extended headers, payload and padding: what is between the BTH and the ICRC.
LONGHAUL_IN_LINE ParseStatus parse_rest(Frame& out, Cursor& at) noexcept {
  if (!at.has(out.opcode->extended_size)) return ParseStatus::too_short_extended;
  at.offset += out.opcode->extended_size;
  out.payload_offset = static_cast<std::uint16_t>(at.offset);
  const std::size_t padded = at.end - at.offset;
  const std::size_t pad = (out.bth().flags & kBthPadMask) >> kBthPadShift;
  if (!out.opcode->payload) {
    if (pad != 0) return ParseStatus::bad_pad_count;
    return padded == 0 ? ParseStatus::roce : ParseStatus::unexpected_payload;
  }
  if (pad > padded) return ParseStatus::bad_pad_count;
  if (padded % 4 != 0) return ParseStatus::bad_payload_size;
  out.payload_size = static_cast<std::uint16_t>(padded - pad);
  return ParseStatus::roce;
}

/// Parses nearly all frames, IPv4 without VLAN tags or IP options, a word at a time: whether they are RoCEv2, and then
/// the headers up to UDP. Returns nothing when the frame must be parsed header by header.
LONGHAUL_IN_LINE std::optional<ParseStatus> parse_usual(Frame& out, Cursor& at) noexcept {
  constexpr std::size_t kIp = sizeof(EthernetHeader);
  constexpr std::size_t kUdp = kIp + sizeof(Ipv4Header);
  constexpr std::size_t kBth = kUdp + sizeof(UdpHeader);
  constexpr std::size_t kLeast = kBth - kIp + sizeof(Bth) + kIcrcSize;
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max() - kIp;  // offsets have 16 bits
  if (out.size < kIp + kLeast) return std::nullopt;
  const auto& ip = view<Ipv4Header>(out.data, kIp);
  const auto& udp = view<UdpHeader>(out.data, kUdp);
  const auto type_and_version = view<Be32>(out.data, offsetof(EthernetHeader, ether_type));
  constexpr std::uint32_t kVersion4Words5 = 0x45;
  if (type_and_version >> 8 != (std::uint32_t{kEtherTypeIpv4} << 8 | kVersion4Words5)) return std::nullopt;
  const std::size_t size = ip.total_length;
  if (size < sizeof(Ipv4Header) || size > kMost || size > out.size - kIp) return std::nullopt;
  // A whole packet of TCP or UDP.
  constexpr std::uint32_t kFragmentAndProtocol = std::uint32_t{kMoreFragmentsOrOffset} << 16 | 0xff;
  const std::uint32_t protocol =
      view<Be32>(out.data, kIp + offsetof(Ipv4Header, flags_fragment)) & kFragmentAndProtocol;
  if (protocol == kIpProtocolTcp) return ParseStatus::not_udp;
  if (protocol != kIpProtocolUdp) [[unlikely]]
    return std::nullopt;
  if (size < kLeast || udp.length != size - sizeof(Ipv4Header)) return std::nullopt;
  if (udp.destination_port != kRoceUdpPort) {
    if (udp.destination_port == kVxlanUdpPort) [[unlikely]]
      return std::nullopt;
    return ParseStatus::not_roce_port;
  }
  out.vlan.value = 0;
  out.ipv6 = false;
  out.source = IpAddress::from_ipv4(ip.source);
  out.destination = IpAddress::from_ipv4(ip.destination);
  out.ip_offset = kIp;
  out.udp_offset = kUdp;
  at.offset = kBth;
  at.end = kIp + size;
  return ParseStatus::roce;
}

/// The headers up to UDP.
ParseStatus parse_headers(Frame& out, Cursor& at) noexcept {
  std::uint16_t ether_type = 0;
  auto status = parse_ethernet(out, at, ether_type);
  if (status != ParseStatus::roce) return status == ParseStatus::too_many_vlan_tags ? inside(out, status) : status;
  out.ip_offset = static_cast<std::uint16_t>(at.offset);
  if (ether_type == kEtherTypeIpv4)
    status = parse_ipv4(out, at);
  else if (ether_type == kEtherTypeIpv6)
    status = parse_ipv6(out, at);
  else
    return inside(out, ParseStatus::not_ip);
  if (status == ParseStatus::roce) status = parse_udp(out, at);
  if (status == ParseStatus::roce && !at.has(sizeof(Bth) + kIcrcSize)) status = ParseStatus::too_short_bth;
  return status;
}

/// From the BTH on.
LONGHAUL_IN_LINE ParseStatus parse_roce(Frame& out, Cursor& at) noexcept {
  const auto status = parse_bth(out, at);
  return status == ParseStatus::roce ? parse_rest(out, at) : status;
}

/// Header by header. Inlined, it would make each usual frame save registers that only this function needs.
[[gnu::noinline]] ParseStatus parse_any(Frame& out) noexcept {
  Cursor at{.offset = 0, .end = out.size};
  const auto status = parse_headers(out, at);
  return status == ParseStatus::roce ? parse_roce(out, at) : status;
}

}  // namespace

std::string_view name_of(ParseStatus status) noexcept {
  const auto index = static_cast<std::size_t>(status);
  return index < kStatusNames.size() ? kStatusNames[index] : "parse_invalid_status";
}

ParseStatus parse(std::span<const std::uint8_t> bytes, Frame& out) noexcept {
  out.data = bytes.data();
  out.size = static_cast<std::uint32_t>(bytes.size());
  out.opcode = nullptr;
  Cursor at;
  const auto usual = parse_usual(out, at);
  if (!usual) return parse_any(out);
  return *usual == ParseStatus::roce ? parse_roce(out, at) : *usual;
}

std::uint16_t ipv4_checksum(std::span<const std::uint8_t> header) noexcept {
  constexpr std::size_t kAt = offsetof(Ipv4Header, checksum);
  return internet_checksum(internet_sum(header.first(kAt)) + internet_sum(header.subspan(kAt + sizeof(Be16))));
}

}  // namespace longhaul::wire
