// SPDX-License-Identifier: BSD-3-Clause
#include "link/impair.hpp"

#include "wire/headers.hpp"

namespace longhaul::link {
namespace {

constexpr std::uint8_t kCongestionExperienced = 0x03;

}  // namespace

void flip_bit(std::span<std::uint8_t> bytes, std::uint64_t random) noexcept {
  constexpr std::size_t kHeader = sizeof(wire::EthernetHeader);
  if (bytes.size() <= kHeader) return;
  const std::uint64_t bit = random % ((bytes.size() - kHeader) * 8);
  bytes[kHeader + bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
}

void mark_congestion(std::span<std::uint8_t> bytes, const wire::Frame& frame) noexcept {
  std::uint8_t* ip = bytes.data() + frame.ip_offset;
  if (frame.ipv6) {
    // Version (4 bits), traffic class (8), flow label: the class's low two bits lead the second byte's upper half.
    ip[1] = static_cast<std::uint8_t>(ip[1] | (kCongestionExperienced << 4));
    return;
  }
  const std::uint8_t before = ip[1];
  ip[1] = static_cast<std::uint8_t>(before | kCongestionExperienced);
  // RFC 1624: HC' = ~(~HC + ~m + m'), m being the 16-bit word; its upper byte is unchanged.
  const std::uint32_t word = static_cast<std::uint32_t>(ip[0]) << 8;
  const std::uint32_t checksum = static_cast<std::uint32_t>(ip[10]) << 8 | ip[11];
  std::uint32_t sum = (~checksum & 0xffff) + (~(word | before) & 0xffff) + (word | ip[1]);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  ip[10] = static_cast<std::uint8_t>(~sum >> 8);
  ip[11] = static_cast<std::uint8_t>(~sum);
}

}  // namespace longhaul::link
