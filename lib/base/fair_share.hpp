// SPDX-License-Identifier: BSD-3-Clause
// How pairs of hosts share what a box has a limited number of, and what a pair may keep for as long as it likes (design
// rule 9).
//
// A pair has a limit below that of all: what it keeps cannot be taken back, so the limit must hold before others ask.
// Where others do ask, dynamic thresholds divide what is there (Choudhury and Hahne, IEEE/ACM Transactions on
// Networking 6(2), 1998, with alpha 8): a pair may hold eight times what is free. Pairs that want all of it then have
// equal shares, and some is always free for the next one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace longhaul {

/// The part of `limit` that one pair of hosts may have: at least 1. `share` is from 0 to 1. Rounded up, because a pair
/// must get what was promised, and its share may be just that.
inline std::uint64_t pair_limit_of(std::uint64_t limit, double share) {
  if (share >= 1) return limit;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(static_cast<double>(limit) * share)));
}

inline constexpr std::uint64_t kAlpha = 8;

/// While all pairs together hold no more than this, each is within its share.
constexpr std::uint64_t undivided(std::uint64_t pair_limit, std::uint64_t limit) {
  return std::min(pair_limit, limit / (kAlpha + 1) * kAlpha);
}

/// What one pair would hold, `held`, is within its share of `limit`, of which all pairs hold `all` now. `contended`:
/// others want their share too.
constexpr bool within_share(std::uint64_t held, std::uint64_t pair_limit, std::uint64_t all, std::uint64_t limit,
                            bool contended) {
  return held <= pair_limit && (!contended || held <= kAlpha * (limit - std::min(limit, all)));
}

}  // namespace longhaul
