// SPDX-License-Identifier: BSD-3-Clause
#include "sim/neighbours.hpp"

#include <algorithm>
#include <array>

#include "sim/frames.hpp"
#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

using Bytes = std::vector<std::uint8_t>;

void append(Bytes& to, std::initializer_list<std::uint8_t> bytes) { to.insert(to.end(), bytes); }
template <typename Container>
void append(Bytes& to, const Container& bytes, std::size_t from = 0) {
  to.insert(to.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end());
}

/// Ethernet and VLAN tags as the case's hosts use them.
Bytes begin(const Case& c, const wire::MacAddress& to, const wire::MacAddress& from, std::uint16_t ether_type) {
  const Bytes sample = frame_from(c, 0).build();
  Bytes frame(sample.begin(), sample.begin() + View(sample).frame.ip_offset);
  std::ranges::copy(to, frame.begin());
  std::ranges::copy(from, frame.begin() + 6);
  frame[frame.size() - 2] = static_cast<std::uint8_t>(ether_type >> 8);
  frame[frame.size() - 1] = static_cast<std::uint8_t>(ether_type);
  return frame;
}

Bytes arp(const Case& c, const wire::IpAddress& ip, const wire::MacAddress& mac, const wire::IpAddress& asked) {
  constexpr std::size_t kIpv4 = 12;  // offset of an IPv4 address in an IpAddress
  Bytes frame = begin(c, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, mac, wire::kEtherTypeArp);
  append(frame, {0, 1, 8, 0, 6, 4, 0, 1});
  append(frame, mac);
  append(frame, ip.bytes, kIpv4);
  append(frame, {0, 0, 0, 0, 0, 0});
  append(frame, asked.bytes, kIpv4);
  frame.resize(std::max<std::size_t>(frame.size(), 60));
  return frame;
}

Bytes advertisement(const Case& c, const wire::IpAddress& ip, const wire::MacAddress& mac) {
  Bytes message = {136, 0, 0, 0, 0x20, 0, 0, 0};  // override
  append(message, ip.bytes);
  append(message, {2, 1});
  append(message, mac);
  const wire::IpAddress all_nodes = wire::IpAddress::parse("ff02::1");

  std::uint32_t sum = static_cast<std::uint32_t>(message.size()) + 58;
  const auto add = [&sum](const auto& bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += 2) sum += static_cast<std::uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  };
  add(ip.bytes);
  add(all_nodes.bytes);
  add(message);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  message[2] = static_cast<std::uint8_t>(~sum >> 8);
  message[3] = static_cast<std::uint8_t>(~sum);

  Bytes frame = begin(c, {0x33, 0x33, 0, 0, 0, 1}, mac, wire::kEtherTypeIpv6);
  append(frame, {0x60, 0, 0, 0, 0, static_cast<std::uint8_t>(message.size()), 58, 255});
  append(frame, ip.bytes);
  append(frame, all_nodes.bytes);
  append(frame, message);
  return frame;
}

}  // namespace

Bytes announcement(const Case& c, const wire::IpAddress& ip, const wire::MacAddress& mac) {
  return c.ipv6 != 0 ? advertisement(c, ip, mac) : arp(c, ip, mac, ip);
}

Bytes question(const Case& c, const wire::IpAddress& ip, const wire::MacAddress& mac, const wire::IpAddress& asked) {
  return c.ipv6 != 0 ? advertisement(c, ip, mac) : arp(c, ip, mac, asked);
}

}  // namespace longhaul::sim
