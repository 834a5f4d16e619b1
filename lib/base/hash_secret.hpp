// SPDX-License-Identifier: BSD-3-Clause
// The secret of hashes that send several keys to one slot. Outsiders choose the keys: without a secret they could
// compute which ones share a slot with a victim's.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace longhaul {

namespace detail {
inline std::atomic<std::uint64_t> hash_secret{0};
}

/// A testbed that must repeat itself fixes the secret, before anything hashes.
inline void fix_hash_secret(std::uint64_t secret) { detail::hash_secret = secret | 1; }

/// Odd, and the same for the whole life of the process. Throws std::system_error when the kernel gives no random
/// numbers.
inline std::uint64_t hash_secret() {
  std::uint64_t secret = detail::hash_secret.load(std::memory_order_relaxed);
  if (secret != 0) return secret;
  std::uint64_t drawn = 0;
  if (getentropy(&drawn, sizeof(drawn)) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot get random numbers for a hash");
  drawn |= 1;
  return detail::hash_secret.compare_exchange_strong(secret, drawn) ? drawn : secret;
}

/// Mixes `value` into `hash` in a way that `secret` decides. Begin with the secret itself.
inline std::uint64_t mix_keyed(std::uint64_t hash, std::uint64_t value, std::uint64_t secret) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = Wide{hash ^ value} * secret;
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

}  // namespace longhaul
