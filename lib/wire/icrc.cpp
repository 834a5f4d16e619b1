// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

#include "wire/icrc_mask.hpp"
#include "wire/icrc_routine.hpp"

namespace longhaul::wire {
namespace {

constexpr std::size_t kMaxIpv4Header = 60;
/// Any headers up to the BTH.
constexpr std::size_t kMaxHeaders = kMaxIpv4Header + sizeof(UdpHeader) + sizeof(Bth);
static_assert(kMaxHeaders >= sizeof(Ipv6Header) + sizeof(UdpHeader) + sizeof(Bth));

/// zlib's CRC-32 of a frame whose every byte, ones and ICRC included, is right (RFC 1952's CRC of a message and its
/// CRC).
constexpr std::uint32_t kResidue = 0x2144df1c;

/// Whether the routine in use takes frames of this shape.
bool in_one_pass(const Frame& frame, std::size_t size) noexcept {
  constexpr std::size_t kWidest = 16;  // what icrc_from_ip() may read before the IP header
  return icrc_routine().from_ip != nullptr && (0 - size) % kWidest <= frame.ip_offset &&
         (frame.ipv6 || frame.udp_offset - frame.ip_offset == sizeof(Ipv4Header));
}

/// `udp` and `bth` are offsets from the IP header.
std::uint32_t by_copy(const std::uint8_t* ip, std::size_t size, bool ipv6, std::size_t udp, std::size_t bth) noexcept {
  std::uint8_t masked[kMaxHeaders];
  const std::size_t headers = std::min(size, bth + sizeof(Bth));
  std::memcpy(masked, ip, headers);
  mask_for_icrc(masked, ipv6, udp, bth);
  return crc32_gzip_refl(crc32_gzip_refl(kCrcOfOnes, masked, headers), ip + headers, size - headers);
}

/// The ICRC of the bytes before offset `end` of the frame.
[[gnu::always_inline]] inline std::uint32_t icrc_to(const Frame& frame, std::size_t end) noexcept {
  const std::size_t size = end - frame.ip_offset;
  if (in_one_pass(frame, size)) [[likely]]
    return icrc_routine().from_ip(frame.data + frame.ip_offset, size, frame.ipv6);
  return by_copy(frame.data + frame.ip_offset, size, frame.ipv6, std::size_t{frame.udp_offset} - frame.ip_offset,
                 std::size_t{frame.bth_offset} - frame.ip_offset);
}

}  // namespace

std::uint32_t icrc_before(const Frame& frame, std::size_t end) noexcept { return icrc_to(frame, end); }

std::uint32_t continue_icrc(std::uint32_t icrc, std::uint64_t bytes) noexcept {
  return icrc_routine().continue_icrc(icrc, bytes);
}

std::uint32_t compute_icrc(const Frame& frame) noexcept { return icrc_to(frame, frame.icrc_offset); }

bool verify_icrc(const Frame& frame) noexcept { return icrc_to(frame, frame.roce_size()) == kResidue; }

// Rounded up to the routine's 16 bytes, such a packet begins at most 12 bytes early: within the Ethernet header.
bool verify_icrc_of_ipv4(const std::uint8_t* ip, std::size_t size) noexcept {
  if (const IcrcFromIp from_ip = icrc_routine().from_ip; from_ip != nullptr) [[likely]]
    return from_ip(ip, size, false) == kResidue;
  constexpr std::size_t kUdp = sizeof(Ipv4Header);
  return by_copy(ip, size, false, kUdp, kUdp + sizeof(UdpHeader)) == kResidue;
}

std::uint32_t stored_icrc(const Frame& frame) noexcept {
  const std::uint8_t* at = frame.data + frame.icrc_offset;
  return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8 |
         static_cast<std::uint32_t>(at[2]) << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}

void store_icrc(std::uint8_t* to, std::uint32_t icrc) noexcept {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(icrc >> (8 * i));
}

bool refresh_icrc(std::span<std::uint8_t> bytes) noexcept {
  Frame frame;
  if (!is_roce(parse(bytes, frame))) return false;
  store_icrc(bytes.data() + frame.icrc_offset, compute_icrc(frame));
  return true;
}

}  // namespace longhaul::wire
