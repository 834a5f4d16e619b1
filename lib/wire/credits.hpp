// SPDX-License-Identifier: BSD-3-Clause
// End-to-end credits as an ACK's syndrome encodes them (IBTA vol. 1, 9.7.7.2.3 and table 45): how many more messages
// that need a receive the responder can take.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wire/headers.hpp"

namespace longhaul::wire {

/// By code, 0 to 30; 31 (kAckNoCredits) says that credits are not in use.
inline constexpr std::array<std::uint32_t, 31> kCredits = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

/// The credits of an ACK's syndrome; `code` must be less than kAckNoCredits.
constexpr std::uint32_t credits_of(std::uint8_t code) noexcept { return kCredits[code]; }

/// The code of the most credits that do not exceed `credits`: an ACK's syndrome.
constexpr std::uint8_t credit_code(std::uint64_t credits) noexcept {
  const auto above = std::upper_bound(kCredits.begin(), kCredits.end(), credits);
  return static_cast<std::uint8_t>(above - kCredits.begin() - 1);
}

static_assert(credit_code(0) == 0 && credit_code(5) == 4 && credit_code(6) == 5 && credit_code(40000) == 30);
static_assert(kCredits.size() == kAckNoCredits);
// From 2 on the table alternates between 2^n and 3 * 2^n: written out above, checked here.
static_assert([] {
  for (std::uint32_t code = 2; code < kCredits.size(); ++code)
    if (kCredits[code] != (code % 2 == 0 ? 1u << code / 2 : 3u << (code - 3) / 2)) return false;
  return kCredits[0] == 0 && kCredits[1] == 1;
}());

}  // namespace longhaul::wire
