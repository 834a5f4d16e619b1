// SPDX-License-Identifier: BSD-3-Clause
// ICRCs by carry-less multiplication ("Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel
// 2009), in one pass over the frame and without a copy of its headers. This file is compiled once per instruction set
// (meson.build), so it has no inline function that other files share.
//
// A frame is taken as registers that end where it ends. So there is no tail, and the first register begins before the
// IP header. Those bytes become zeros, which a CRC of initial value zero does not see; the real initial value is added
// to the first bytes of the IP header. The fields that may change on the way become ones in registers. (A copy in
// memory would be read by wider loads than it was stored, and such loads wait for all stores before them, those to cold
// cache lines too.)
//
// A block of 16 bytes that has d blocks behind it counts as its polynomial times x^(128 d + 32), modulo the CRC's
// polynomial P. The registers of a short frame are multiplied by constants for their places; no product waits for
// another. Of a long frame, groups of registers are folded into one group first. What is left is a polynomial of less
// than 96 bits, and Barrett's reduction takes it modulo P.
//
// Bits are reflected, as the CRC sends them: bit 0 of a register is the coefficient of the highest power. The product
// of two reflected numbers comes out one place too low, so a constant for x^n holds x^(n - 1) mod P.
#include "wire/icrc_fold.hpp"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace longhaul::wire {
namespace {

#if defined(__AVX512BW__)
using Register = __m512i;
constexpr std::size_t kGroup = 4;  ///< registers that are folded at a time: enough to hide the latency
#elif defined(__VPCLMULQDQ__)
using Register = __m256i;
constexpr std::size_t kGroup = 4;
#else
using Register = __m128i;
constexpr std::size_t kGroup = 8;
#endif
constexpr std::size_t kWidth = sizeof(Register);
constexpr std::size_t kBlock = 16;
constexpr unsigned kBlocks = kWidth / kBlock;  ///< in a register
constexpr unsigned kBlockBits = 8 * kBlock;

/// P without x^32, reflected.
constexpr std::uint32_t kPolynomial = 0xedb88320;
/// P with x^32, and floor(x^64 / P), both in 33 reflected bits.
constexpr long long kWholePolynomial = 0x1db710641;
constexpr long long kQuotient = 0x1f7011641;
/// The CRC's register after the eight bytes of ones that stand for the LRH.
constexpr std::uint32_t kAfterOnes = 0xdebb20e3;

/// The constant that multiplies by x^n: x^(n - 1) mod P, as the low coefficients of 64 reflected bits.
constexpr std::uint64_t times_x_to(unsigned n) {
  std::uint32_t power = 0x80000000;
  for (unsigned i = 1; i < n; ++i) power = power >> 1 ^ ((power & 1) != 0 ? kPolynomial : 0);
  return std::uint64_t{power} << 32;
}

/// What moves a block up by so many bits. The block's first eight bytes are the higher powers.
struct Factors {
  std::uint64_t first;
  std::uint64_t second;
};
constexpr Factors moved_by(unsigned bits) { return {times_x_to(bits + 64), times_x_to(bits)}; }

/// For a block by the number of blocks behind it, downwards, so that a load takes the factors of a whole register.
constexpr unsigned kPlaces = 2 * kGroup * kBlocks;
struct Places {
  Factors factors[kPlaces];
};
alignas(64) constexpr Places kByPlace = [] {
  Places places{};
  for (unsigned behind = 0; behind < kPlaces; ++behind)
    places.factors[kPlaces - 1 - behind] = moved_by(kBlockBits * behind + 32);
  return places;
}();

/// From a place in one group to the same place in the next.
struct GroupFactors {
  Factors factors[kBlocks];
};
alignas(64) constexpr GroupFactors kByGroup = [] {
  GroupFactors all{};
  for (Factors& factors : all.factors) factors = moved_by(kBlockBits * kBlocks * kGroup);
  return all;
}();

/// How the first registers are masked: `keep` and then `flip`. The IP header stands at kWidth, wherever the first
/// register begins before it.
struct Masks {
  static constexpr std::size_t kBytes = kWidth + kGroup * kWidth;
  std::uint8_t keep[kBytes];
  std::uint8_t flip[kBytes];

  constexpr void ones(std::size_t at, unsigned bits = 0xff) {
    keep[kWidth + at] = static_cast<std::uint8_t>(keep[kWidth + at] & ~bits);
    flip[kWidth + at] = static_cast<std::uint8_t>(flip[kWidth + at] | bits);
  }
};
static_assert(kGroup * kWidth >= kWidth - 1 + 40 + 8 + 5, "a group holds all that is masked, also of IPv6");

/// IBTA Annex A17.3.2; byte offsets from the IP header.
constexpr Masks masks(bool ipv6) {
  Masks masks{};
  for (std::size_t at = kWidth; at < Masks::kBytes; ++at) masks.keep[at] = 0xff;
  if (ipv6) {
    masks.ones(0, 0x0f);  // traffic class and flow label: all but the version in the first four bytes
    for (std::size_t at = 1; at < 4; ++at) masks.ones(at);
    masks.ones(7);  // hop limit
  } else {
    masks.ones(1);                                            // ToS
    masks.ones(8);                                            // TTL
    for (std::size_t at = 10; at < 12; ++at) masks.ones(at);  // header checksum
  }
  const std::size_t udp = ipv6 ? 40 : 20;
  const std::size_t bth = udp + 8;
  for (std::size_t at = udp + 6; at < bth; ++at) masks.ones(at);  // UDP checksum
  masks.ones(bth + 4);                                            // reserved
  for (std::size_t i = 0; i < sizeof(kAfterOnes); ++i)
    masks.flip[kWidth + i] = static_cast<std::uint8_t>(masks.flip[kWidth + i] ^ kAfterOnes >> (8 * i));
  return masks;
}

alignas(64) constexpr Masks kMasks[2] = {masks(false), masks(true)};

// What differs between the instruction sets. load_first() loads the register at `from` whose first `unread` bytes are
// before the frame, and reads at most 15 of these; the masks turn all of them into zeros.
#if defined(__AVX512BW__)
inline Register load(const void* from) { return _mm512_loadu_si512(from); }
inline Register load_first(const std::uint8_t* from, std::size_t unread) {
  return _mm512_maskz_loadu_epi8(~std::uint64_t{0} << unread, from);
}
inline Register both(Register a, Register b) { return _mm512_and_si512(a, b); }
inline Register sum(Register a, Register b) { return _mm512_xor_si512(a, b); }
/// The products of the blocks and their factors, plus `more`.
inline Register product(Register blocks, Register factors, Register more) {
  constexpr int kSumOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(blocks, factors, 0x00),
                                   _mm512_clmulepi64_epi128(blocks, factors, 0x11), more, kSumOfThree);
}
inline __m128i sum_of_blocks(Register blocks) {
  const __m256i two = _mm256_xor_si256(_mm512_castsi512_si256(blocks), _mm512_extracti64x4_epi64(blocks, 1));
  return _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
}
#elif defined(__VPCLMULQDQ__)
inline Register load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
inline Register load_first(const std::uint8_t* from, std::size_t unread) {
  if (unread < kBlock) return load(from);
  const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + kBlock));
  return _mm256_inserti128_si256(_mm256_setzero_si256(), second, 1);
}
inline Register both(Register a, Register b) { return _mm256_and_si256(a, b); }
inline Register sum(Register a, Register b) { return _mm256_xor_si256(a, b); }
inline Register product(Register blocks, Register factors, Register more) {
  return sum(sum(_mm256_clmulepi64_epi128(blocks, factors, 0x00), more),
             _mm256_clmulepi64_epi128(blocks, factors, 0x11));
}
inline __m128i sum_of_blocks(Register blocks) {
  return _mm_xor_si128(_mm256_castsi256_si128(blocks), _mm256_extracti128_si256(blocks, 1));
}
#else
inline Register load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline Register load_first(const std::uint8_t* from, std::size_t) { return load(from); }
inline Register both(Register a, Register b) { return _mm_and_si128(a, b); }
inline Register sum(Register a, Register b) { return _mm_xor_si128(a, b); }
inline Register product(Register block, Register factors, Register more) {
  return sum(sum(_mm_clmulepi64_si128(block, factors, 0x00), more), _mm_clmulepi64_si128(block, factors, 0x11));
}
inline __m128i sum_of_blocks(Register block) { return block; }
#endif

/// The products of a register that has so many registers behind it, plus `more`.
inline Register product_by_place(Register blocks, std::size_t behind, Register more) {
  return product(blocks, load(kByPlace.factors + kPlaces - kBlocks * (behind + 1)), more);
}

/// The CRC's register for a polynomial of less than 96 bits.
inline std::uint32_t reduce(__m128i polynomial) {
  const __m128i by_x64 = _mm_set_epi64x(0, static_cast<long long>(times_x_to(64)));
  const __m128i barrett = _mm_set_epi64x(kWholePolynomial, kQuotient);
  const __m128i first_half = _mm_set_epi64x(0, 0xffffffff);
  const __m128i rest =
      _mm_srli_si128(_mm_xor_si128(polynomial, _mm_clmulepi64_si128(polynomial, by_x64, 0x00)), sizeof(std::uint64_t));
  const __m128i quotient =
      _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(rest, first_half), barrett, 0x00), first_half);
  const __m128i remainder = _mm_xor_si128(rest, _mm_clmulepi64_si128(quotient, barrett, 0x10));
  return static_cast<std::uint32_t>(_mm_extract_epi32(remainder, 1));
}

}  // namespace

#if defined(__AVX512BW__)
namespace vpclmul512 {
#elif defined(__VPCLMULQDQ__)
namespace vpclmul256 {
#else
namespace pclmul {
#endif

std::uint32_t icrc_from_ip(const std::uint8_t* ip, std::size_t size, bool ipv6) noexcept {
  const std::size_t unread = (0 - size) % kWidth;
  const std::size_t count = (unread + size) / kWidth;
  const std::uint8_t* frame = ip - unread;
  const std::uint8_t* keep = kMasks[ipv6 ? 1 : 0].keep + kWidth - unread;
  const std::uint8_t* flip = kMasks[ipv6 ? 1 : 0].flip + kWidth - unread;
  const auto masked = [&](std::size_t i) {
    const Register bytes = i == 0 ? load_first(frame, unread) : load(frame + i * kWidth);
    return sum(both(bytes, load(keep + i * kWidth)), load(flip + i * kWidth));
  };

  Register total{};
  std::size_t i = 0;
  if (count < kGroup) {
    total = product_by_place(masked(0), count - 1, total);
    for (i = 1; i < count; ++i) total = product_by_place(masked(i), count - 1 - i, total);
  } else {
    Register group[kGroup];
    const Register by_group = load(&kByGroup);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kGroup; ++r) group[r] = masked(r);
    for (i = kGroup; i + kGroup <= count; i += kGroup) {
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kGroup; ++r) group[r] = product(group[r], by_group, load(frame + (i + r) * kWidth));
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kGroup; ++r) total = product_by_place(group[r], count - i + kGroup - 1 - r, total);
    for (; i < count; ++i) total = product_by_place(load(frame + i * kWidth), count - 1 - i, total);
  }
  return ~reduce(sum_of_blocks(total));
}

std::uint32_t continue_icrc(std::uint32_t icrc, std::uint64_t bytes) noexcept {
  const __m128i block = _mm_cvtsi64_si128(static_cast<long long>(bytes ^ static_cast<std::uint32_t>(~icrc)));
  const __m128i by_x32 = _mm_cvtsi64_si128(static_cast<long long>(times_x_to(32)));
  return ~reduce(_mm_clmulepi64_si128(block, by_x32, 0x00));
}

}  // namespace pclmul, vpclmul256 or vpclmul512
}  // namespace longhaul::wire
