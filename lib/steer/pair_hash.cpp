// SPDX-License-Identifier: BSD-3-Clause
#include "steer/pair_hash.hpp"

#include <bit>
#include <cstring>

namespace longhaul::steer {

namespace {

// Toeplitz: the XOR, over all bits set in the input, of the 32 bits of the key that begin at that bit's position. The
// key repeats every 16 bits, so all 16-bit words of the input can be combined by XOR first.
constexpr std::uint32_t kKey = std::uint32_t{kRssKeyPattern[0]} << 24 | std::uint32_t{kRssKeyPattern[1]} << 16 |
                               std::uint32_t{kRssKeyPattern[0]} << 8 | kRssKeyPattern[1];

constexpr std::array<std::uint32_t, 256> hashes_of_byte(int place) {
  std::array<std::uint32_t, 256> hashes{};
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    for (int bit = 0; bit < 8; ++bit)
      if ((byte >> (7 - bit) & 1) != 0) hashes[byte] ^= std::rotl(kKey, place + bit);
  return hashes;
}
constexpr auto kFirst = hashes_of_byte(0);
constexpr auto kSecond = hashes_of_byte(8);

}  // namespace

std::uint32_t pair_hash(const wire::IpAddress& source, const wire::IpAddress& destination) noexcept {
  // The prefix of an IPv4 address (::ffff:) is the same in both and cancels out.
  std::array<std::uint64_t, 4> words;
  std::memcpy(words.data(), source.bytes.data(), 16);
  std::memcpy(words.data() + 2, destination.bytes.data(), 16);
  std::uint64_t sum = words[0] ^ words[1] ^ words[2] ^ words[3];
  sum ^= sum >> 32;
  sum ^= sum >> 16;
  static_assert(std::endian::native == std::endian::little, "the first byte of a word is its low one");
  return kFirst[sum & 0xff] ^ kSecond[sum >> 8 & 0xff];
}

}  // namespace longhaul::steer
