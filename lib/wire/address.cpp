// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>

#include <algorithm>
#include <stdexcept>

#include "wire/frame.hpp"

namespace longhaul::wire {
namespace {

/// ::ffff:0:0/96, RFC 4291, 2.5.5.2.
constexpr std::array<std::uint8_t, 12> kIpv4Mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

bool IpAddress::is_ipv4() const noexcept { return std::equal(kIpv4Mapped.begin(), kIpv4Mapped.end(), bytes.begin()); }

bool IpAddress::is_a_machines() const noexcept {
  if (!is_ipv4()) return bytes[0] != 0xff && *this != IpAddress{};
  const std::uint8_t first = bytes[kIpv4Mapped.size()];
  return first != 0 && first != 127 && first < 224;
}

IpAddress IpAddress::from_ipv6(const std::array<std::uint8_t, 16>& octets) noexcept {
  IpAddress address;
  address.bytes = octets;
  return address;
}

IpAddress IpAddress::parse(const std::string& text) {
  std::array<std::uint8_t, 4> ipv4{};
  if (inet_pton(AF_INET, text.c_str(), ipv4.data()) == 1) return from_ipv4(ipv4);
  std::array<std::uint8_t, 16> ipv6{};
  if (inet_pton(AF_INET6, text.c_str(), ipv6.data()) == 1) return from_ipv6(ipv6);
  throw std::invalid_argument("not an IPv4 or IPv6 address: '" + text + "'");
}

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_ipv4())
    inet_ntop(AF_INET, bytes.data() + kIpv4Mapped.size(), text, sizeof(text));
  else
    inet_ntop(AF_INET6, bytes.data(), text, sizeof(text));
  return text;
}

}  // namespace longhaul::wire
