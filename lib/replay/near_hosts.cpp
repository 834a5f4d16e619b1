// SPDX-License-Identifier: BSD-3-Clause
#include "replay/near_hosts.hpp"

#include <algorithm>
#include <cstring>

namespace longhaul::replay {
namespace {

constexpr std::uint16_t kEtherTypeArp = 0x0806;
constexpr std::size_t kArpSenderProtocolAddress = 14;  // RFC 826, Ethernet and IPv4
constexpr std::size_t kIpv4Source = 12;
constexpr std::size_t kIpv6Source = 8;

std::uint16_t be16(const std::uint8_t* at) { return static_cast<std::uint16_t>((at[0] << 8) | at[1]); }

wire::IpAddress ipv4_at(const std::uint8_t* at) { return wire::IpAddress::from_ipv4({at[0], at[1], at[2], at[3]}); }

/// The sender's address in any kind of frame; wire::parse() would give it for RoCE only.
std::optional<wire::IpAddress> sender_of(std::span<const std::uint8_t> frame) {
  std::size_t at = 12;
  if (frame.size() < at + 2) return std::nullopt;
  std::uint16_t type = be16(&frame[at]);
  at += 2;
  while ((type == wire::kEtherTypeVlan || type == wire::kEtherTypeQinQ) && frame.size() >= at + 4) {
    type = be16(&frame[at + 2]);
    at += 4;
  }
  const auto packet = frame.subspan(at);
  switch (type) {
    case wire::kEtherTypeIpv4:
      if (packet.size() < kIpv4Source + 4) return std::nullopt;
      return ipv4_at(&packet[kIpv4Source]);
    case wire::kEtherTypeIpv6: {
      if (packet.size() < kIpv6Source + 16) return std::nullopt;
      std::array<std::uint8_t, 16> bytes;
      std::copy_n(packet.begin() + kIpv6Source, bytes.size(), bytes.begin());
      return wire::IpAddress::from_ipv6(bytes);
    }
    case kEtherTypeArp: {
      static constexpr std::array<std::uint8_t, 6> kEthernetIpv4 = {0, 1, 8, 0, 6, 4};
      if (packet.size() < kArpSenderProtocolAddress + 4) return std::nullopt;
      if (!std::equal(kEthernetIpv4.begin(), kEthernetIpv4.end(), packet.begin())) return std::nullopt;
      return ipv4_at(&packet[kArpSenderProtocolAddress]);
    }
    default:
      return std::nullopt;
  }
}

/// Unspecified and link-local addresses do not identify a host.
bool identifies_a_host(const wire::IpAddress& address) {
  if (address.is_ipv4()) {
    static constexpr std::array<std::uint8_t, 4> kZero = {};
    const bool unspecified = std::equal(kZero.begin(), kZero.end(), address.bytes.begin() + 12);
    const bool link_local = address.bytes[12] == 169 && address.bytes[13] == 254;
    return !unspecified && !link_local;
  }
  const bool link_local = address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
  const bool unspecified = std::all_of(address.bytes.begin(), address.bytes.end(), [](auto byte) { return byte == 0; });
  return !link_local && !unspecified;
}

}  // namespace

bool NearHosts::is_near(const wire::IpAddress& address) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(), [&](const auto& prefix) { return prefix.contains(address); });
}

Side NearHosts::side_of(std::span<const std::uint8_t> frame) {
  wire::MacAddress mac{};
  const bool has_mac = frame.size() >= 12;
  if (has_mac) std::copy_n(frame.begin() + 6, mac.size(), mac.begin());

  if (const auto sender = sender_of(frame); sender) {
    if (is_near(*sender)) {
      macs_.insert(mac);
      return Side::host;
    }
    if (identifies_a_host(*sender)) return Side::wan;
  }
  return has_mac && macs_.contains(mac) ? Side::host : Side::wan;
}

}  // namespace longhaul::replay
