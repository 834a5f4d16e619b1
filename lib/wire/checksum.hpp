// SPDX-License-Identifier: BSD-3-Clause
// The Internet checksum (RFC 1071), away from the path of packets.
#pragma once

#include <cstdint>
#include <span>

#include "wire/frame.hpp"

namespace longhaul::wire {

/// The sum of the 16-bit words, carries not added back in. Sums of parts that begin at even places add up.
std::uint64_t internet_sum(std::span<const std::uint8_t> bytes) noexcept;
/// Of the pseudo-headers of RFC 768 and RFC 8200, 8.1: a family's zeros make no difference. `size`: bytes of the upper
/// layer's packet.
std::uint64_t pseudo_header_sum(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                std::size_t size) noexcept;
/// What the checksum's field must have when `sum` counts it as zero; 0 when `sum` has the right checksum in it.
std::uint16_t internet_checksum(std::uint64_t sum) noexcept;

}  // namespace longhaul::wire
