// SPDX-License-Identifier: BSD-3-Clause
// End-to-end credits in an AETH (IBTA vol. 1, table 46): a 5-bit code for a number of receives.
#pragma once

#include <array>
#include <cstdint>

namespace longhaul::sim {

inline constexpr std::array<std::uint32_t, 31> kCredits = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

/// The largest code that promises no more than `receives`.
constexpr std::uint8_t encode_credits(std::uint32_t receives) {
  std::uint8_t code = 0;
  while (code + 1u < kCredits.size() && kCredits[code + 1u] <= receives) ++code;
  return code;
}

}  // namespace longhaul::sim
