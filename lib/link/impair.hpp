// SPDX-License-Identifier: BSD-3-Clause
// What can be done to the bytes of a frame.
#pragma once

#include <cstdint>
#include <span>

#include "wire/frame.hpp"

namespace longhaul::link {

/// Flips bit number `random` (modulo the number of bits) after the 14 bytes of the Ethernet header, so that the frame
/// still finds its way. Does nothing to a frame that ends there.
void flip_bit(std::span<std::uint8_t> bytes, std::uint64_t random) noexcept;

/// Sets "congestion experienced" in the IP header and updates the IPv4 checksum. `frame` must be a view of `bytes`. The
/// ICRC does not cover these bits.
void mark_congestion(std::span<std::uint8_t> bytes, const wire::Frame& frame) noexcept;

}  // namespace longhaul::link
