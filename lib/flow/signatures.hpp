// SPDX-License-Identifier: BSD-3-Clause
// Finds a 16-bit number among eight.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>

namespace longhaul::flow {

using Signatures = std::array<std::uint16_t, 8>;

/// Bit i is set when `first[i]` is `sought`, bit 8 + i when `second[i]` is.
inline std::uint32_t matches_scalar(const Signatures& first, const Signatures& second, std::uint16_t sought) noexcept {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < first.size(); ++i)
    found |= static_cast<std::uint32_t>(first[i] == sought) << i | static_cast<std::uint32_t>(second[i] == sought)
                                                                       << (first.size() + i);
  return found;
}

/// As matches_scalar(), by vectors where the processor has them. `first` and `second` must be aligned to 16 bytes.
inline std::uint32_t matches(const Signatures& first, const Signatures& second, std::uint16_t sought) noexcept {
#ifdef __SSE2__
  const __m128i all = _mm_set1_epi16(static_cast<short>(sought));
  const auto equal = [all](const Signatures& some) {
    return _mm_cmpeq_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(some.data())), all);
  };
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(equal(first), equal(second))));
#else
  return matches_scalar(first, second, sought);
#endif
}

}  // namespace longhaul::flow
