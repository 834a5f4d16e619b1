// SPDX-License-Identifier: BSD-3-Clause
// The invariant CRC of RoCEv2 (IBTA vol. 1, 7.8.1 and Annex A17.3.2): CRC-32 (zlib's polynomial) over eight 0xff bytes,
// the IP header with ToS, TTL and checksum as ones (IPv6: traffic class, flow label, hop limit), UDP with its checksum
// as ones, BTH with its reserved byte as ones, then everything to the end of the padding. It is stored least
// significant byte first.
#pragma once

#include <cstdint>
#include <span>

#include "wire/frame.hpp"

namespace longhaul::wire {

/// The ICRC that `frame` ought to carry, as a number (store it with store_icrc()).
std::uint32_t compute_icrc(const Frame& frame) noexcept;

/// The ICRC that `frame` carries.
std::uint32_t stored_icrc(const Frame& frame) noexcept;

/// The ICRC that `frame` carries is the one that it ought to carry.
bool verify_icrc(const Frame& frame) noexcept;

/// As verify_icrc(), for the `size` bytes of a packet of IPv4 without options, at `ip`. Before it stands an Ethernet
/// header, and `size` is a multiple of four.
bool verify_icrc_of_ipv4(const std::uint8_t* ip, std::size_t size) noexcept;

/// The ICRC of the bytes before offset `end` of the frame. `end` must be behind the BTH's Destination QP. Frames that
/// differ only from `end` on share this ICRC.
std::uint32_t icrc_before(const Frame& frame, std::size_t end) noexcept;

/// Continues `icrc` over eight bytes, in memory order, that follow those it was computed of.
std::uint32_t continue_icrc(std::uint32_t icrc, std::uint64_t bytes) noexcept;

/// Writes `icrc` in wire order to the four bytes at `to`.
void store_icrc(std::uint8_t* to, std::uint32_t icrc) noexcept;

/// Recomputes and stores the ICRC of the frame in `bytes`, which must parse as RoCE (or as RoCE with an
/// unknown opcode). Returns false, and changes nothing, when it does not.
bool refresh_icrc(std::span<std::uint8_t> bytes) noexcept;

}  // namespace longhaul::wire
