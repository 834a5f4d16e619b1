// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on the 24-bit circle of PSNs and MSNs (IBTA vol. 1, 9.7.1).
#pragma once

#include <cstdint>

namespace longhaul::wire {

inline constexpr std::uint32_t kPsnMask = 0xffffff;

/// `a + n` on the circle; `n` may be negative.
constexpr std::uint32_t psn_add(std::uint32_t a, std::int64_t n) noexcept {
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(a) + n) & kPsnMask;
}

/// Signed distance from `b` to `a`, in [-2^23, 2^23): positive when `a` comes after `b`.
constexpr std::int32_t psn_diff(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}

constexpr bool psn_lt(std::uint32_t a, std::uint32_t b) noexcept { return psn_diff(a, b) < 0; }
constexpr bool psn_le(std::uint32_t a, std::uint32_t b) noexcept { return psn_diff(a, b) <= 0; }

static_assert(psn_diff(0, 0xffffff) == 1 && psn_diff(0xffffff, 0) == -1);
static_assert(psn_add(0xffffff, 1) == 0 && psn_add(0, -1) == 0xffffff);

}  // namespace longhaul::wire
