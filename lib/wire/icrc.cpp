// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.hpp"

#include <isa-l/crc.h>

#include <cstring>

namespace longhaul::wire {
namespace {

/// zlib's CRC-32 of eight 0xff bytes, which stand for the LRH that RoCEv2 does not have.
constexpr std::uint32_t kCrcOfOnes = 0x2144df1c;

constexpr std::size_t kMaxIpv4Header = 60;
constexpr std::size_t kMaxPseudoHeader = kMaxIpv4Header + sizeof(UdpHeader) + sizeof(Bth);
static_assert(kMaxPseudoHeader >= sizeof(Ipv6Header) + sizeof(UdpHeader) + sizeof(Bth));

/// Up to this many bytes from the IP header to the ICRC go through the CRC in one piece: a second call costs more than
/// copying.
constexpr std::size_t kOnePiece = 384;
static_assert(kOnePiece >= kMaxPseudoHeader);

constexpr std::size_t kUsualHeaders = sizeof(Ipv4Header) + sizeof(UdpHeader) + sizeof(Bth);

std::uint32_t crc32(std::uint32_t seed, const std::uint8_t* bytes, std::size_t size) noexcept {
  return crc32_gzip_refl(seed, bytes, size);
}

/// Sets to ones what may change on the way; `ip` begins with the IP header, and `udp` and `bth` are offsets into it.
void mask(std::uint8_t* ip, bool ipv6, std::size_t udp, std::size_t bth) noexcept {
  if (ipv6) {
    ip[0] |= 0x0f;  // traffic class and flow label: all but the version in the first four bytes
    ip[1] = ip[2] = ip[3] = 0xff;
    ip[offsetof(Ipv6Header, hop_limit)] = 0xff;
  } else {
    ip[offsetof(Ipv4Header, tos)] = 0xff;
    ip[offsetof(Ipv4Header, ttl)] = 0xff;
    std::memset(ip + offsetof(Ipv4Header, checksum), 0xff, sizeof(Ipv4Header::checksum));
  }
  std::memset(ip + udp + offsetof(UdpHeader, checksum), 0xff, sizeof(UdpHeader::checksum));
  ip[bth + offsetof(Bth, reserved)] = 0xff;
}

}  // namespace

std::uint32_t icrc_before(const Frame& frame, std::size_t end) noexcept {
  std::uint8_t masked[kOnePiece];
  const std::size_t size = end - frame.ip_offset;
  if (size == kUsualHeaders)
    std::memcpy(masked, frame.data + frame.ip_offset, kUsualHeaders);  // in line
  else
    std::memcpy(masked, frame.data + frame.ip_offset, size);
  mask(masked, frame.ipv6, static_cast<std::size_t>(frame.udp_offset - frame.ip_offset),
       static_cast<std::size_t>(frame.bth_offset - frame.ip_offset));
  return crc32(kCrcOfOnes, masked, size);
}

std::uint32_t continue_icrc(std::uint32_t icrc, std::span<const std::uint8_t> bytes) noexcept {
  return crc32(icrc, bytes.data(), bytes.size());
}

std::uint32_t compute_icrc(const Frame& frame) noexcept {
  const std::size_t size = static_cast<std::size_t>(frame.icrc_offset - frame.ip_offset);
  if (size <= kOnePiece) return icrc_before(frame, frame.icrc_offset);
  const std::size_t rest = frame.bth_offset + sizeof(Bth);
  return continue_icrc(icrc_before(frame, rest), {frame.data + rest, frame.icrc_offset - rest});
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
