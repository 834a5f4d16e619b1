// SPDX-License-Identifier: BSD-3-Clause
// What depends on a connection's path MTU (IBTA vol. 1, 9.7.3.1 and 9.7.4.1).
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/frame.hpp"

namespace longhaul::wire {

inline constexpr std::uint32_t kLeastPathMtu = 256;  ///< bytes
inline constexpr std::uint32_t kMostPathMtu = 4096;  ///< bytes

/// PSNs that the responses to a READ of `bytes` use up, with `path_mtu` in bytes, not 0. A READ of 0 bytes has one
/// response too.
constexpr std::uint32_t responses_to_read(std::uint32_t bytes, std::uint32_t path_mtu) noexcept {
  return std::max<std::uint32_t>(bytes / path_mtu + (bytes % path_mtu != 0 ? 1 : 0), 1);
}

/// PSNs that a request packet uses up: those of its responses for a READ, else 1. Returns 0 when the number is not
/// known: for a READ of more than the least path MTU while `path_mtu` (bytes) is 0. `frame.opcode` must be a known
/// request.
std::uint32_t psns_of(const Frame& frame, std::uint32_t path_mtu) noexcept;

/// The path MTU in bytes that a First or Middle packet of a SEND, WRITE or READ response shows (its payload fills it);
/// 0 for all other packets.
std::uint32_t path_mtu_shown_by(const Frame& frame) noexcept;

}  // namespace longhaul::wire
