// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/headers.hpp"

namespace longhaul::wire {

/// zlib's CRC-32 of eight 0xff bytes, which stand for the LRH that RoCEv2 does not have.
inline constexpr std::uint32_t kCrcOfOnes = 0x2144df1c;

/// Sets the fields that may change on the way to ones (IBTA Annex A17.3.2); `ip` begins with the IP header, and `udp`
/// and `bth` are offsets into it.
constexpr void mask_for_icrc(std::uint8_t* ip, bool ipv6, std::size_t udp, std::size_t bth) noexcept {
  const auto all_ones = [](std::uint8_t* field) { field[0] = field[1] = 0xff; };
  if (ipv6) {
    ip[0] |= 0x0f;  // traffic class and flow label: all but the version in the first four bytes
    ip[1] = ip[2] = ip[3] = 0xff;
    ip[offsetof(Ipv6Header, hop_limit)] = 0xff;
  } else {
    ip[offsetof(Ipv4Header, tos)] = 0xff;
    ip[offsetof(Ipv4Header, ttl)] = 0xff;
    all_ones(ip + offsetof(Ipv4Header, checksum));
  }
  all_ones(ip + udp + offsetof(UdpHeader, checksum));
  ip[bth + offsetof(Bth, reserved)] = 0xff;
}

}  // namespace longhaul::wire
