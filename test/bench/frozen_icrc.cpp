// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/frozen_icrc.hpp"

#include <isa-l/crc.h>

#include <array>
#include <cstring>

#include "wire/icrc.hpp"
#include "wire/icrc_mask.hpp"

namespace longhaul::bench {

using namespace wire;

namespace {

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

/// What mask_for_icrc() sets in nearly all frames: IPv4 without options.
alignas(16) constexpr auto kUsualOnes = [] {
  std::array<std::uint8_t, kUsualHeaders> ones{};
  mask_for_icrc(ones.data(), false, sizeof(Ipv4Header), sizeof(Ipv4Header) + sizeof(UdpHeader));
  return ones;
}();

/// Copies those headers, masked. Each byte is stored once, in pieces as large as the reads that follow.
void copy_usual(std::uint8_t* masked, const std::uint8_t* ip) noexcept {
  typedef std::uint64_t Halves __attribute__((vector_size(16)));
  static_assert(kUsualHeaders == 2 * sizeof(Halves) + sizeof(std::uint64_t));
  const auto piece = [&](auto bytes, std::size_t offset) {
    auto ones = bytes;
    std::memcpy(&bytes, ip + offset, sizeof(bytes));
    std::memcpy(&ones, kUsualOnes.data() + offset, sizeof(ones));
    bytes |= ones;
    std::memcpy(masked + offset, &bytes, sizeof(bytes));
  };
  piece(Halves{}, 0);
  piece(Halves{}, sizeof(Halves));
  piece(std::uint64_t{}, 2 * sizeof(Halves));
}

/// The ICRC of `size` bytes from the IP header on. Copies of constant size are inlined.
[[gnu::always_inline]] inline std::uint32_t icrc_of(const Frame& frame, std::size_t size) noexcept {
  std::uint8_t masked[kOnePiece];
  const std::uint8_t* ip = frame.data + frame.ip_offset;
  const std::size_t udp = std::size_t{frame.udp_offset} - frame.ip_offset;
  if (!frame.ipv6 && udp == sizeof(Ipv4Header) && size >= kUsualHeaders) [[likely]] {
    copy_usual(masked, ip);
    if (size == kUsualHeaders + sizeof(Aeth))
      std::memcpy(masked + kUsualHeaders, ip + kUsualHeaders, sizeof(Aeth));
    else if (size != kUsualHeaders)
      std::memcpy(masked + kUsualHeaders, ip + kUsualHeaders, size - kUsualHeaders);
  } else {
    std::memcpy(masked, ip, size);
    mask_for_icrc(masked, frame.ipv6, udp, std::size_t{frame.bth_offset} - frame.ip_offset);
  }
  return crc32(kCrcOfOnes, masked, size);
}

std::uint32_t compute_icrc_by_copy(const Frame& frame) noexcept {
  const std::size_t ip = frame.ip_offset;
  const std::size_t size = frame.icrc_offset - ip;
  const std::size_t headers = frame.bth_offset + sizeof(Bth) - ip;
  const std::size_t first = size <= kOnePiece ? size : headers;
  const std::uint32_t icrc = icrc_of(frame, first);
  return first == size ? icrc : crc32(icrc, frame.data + ip + first, size - first);
}

}  // namespace

bool frozen_verify_icrc(const Frame& frame) noexcept { return compute_icrc_by_copy(frame) == stored_icrc(frame); }

}  // namespace longhaul::bench
