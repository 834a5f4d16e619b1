// SPDX-License-Identifier: BSD-3-Clause
// ICRCs by carry-less multiplication, for two instruction sets: icrc_fold.cpp is compiled for each. Call them through
// icrc_routine(), which knows what the processor has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longhaul::wire {

/// The zlib CRC-32 (not a register of it) of the eight bytes of ones that stand for the LRH, and of `size` bytes from
/// the IP header at `ip` on, the fields that may change on the way taken as ones (IBTA Annex A17.3.2).
///
/// The IP header is IPv4 without options, or IPv6 without extension headers. `size` reaches behind the BTH's reserved
/// byte: at least 33 bytes for IPv4, and 53 for IPv6. There are readable bytes before `ip`, so that `size` and they are
/// a multiple of 16 together.
using IcrcFromIp = std::uint32_t (*)(const std::uint8_t* ip, std::size_t size, bool ipv6) noexcept;

/// The CRC-32 of eight more bytes, in memory order, that follow those of which `icrc` is the CRC-32.
using ContinueIcrc = std::uint32_t (*)(std::uint32_t icrc, std::uint64_t bytes) noexcept;

/// For processors with PCLMULQDQ and SSE4.1.
namespace pclmul {
std::uint32_t icrc_from_ip(const std::uint8_t* ip, std::size_t size, bool ipv6) noexcept;
std::uint32_t continue_icrc(std::uint32_t icrc, std::uint64_t bytes) noexcept;
}  // namespace pclmul

/// For processors with VPCLMULQDQ and AVX2.
namespace vpclmul256 {
std::uint32_t icrc_from_ip(const std::uint8_t* ip, std::size_t size, bool ipv6) noexcept;
std::uint32_t continue_icrc(std::uint32_t icrc, std::uint64_t bytes) noexcept;
}  // namespace vpclmul256

/// For processors with VPCLMULQDQ, AVX-512F and AVX-512BW.
namespace vpclmul512 {
std::uint32_t icrc_from_ip(const std::uint8_t* ip, std::size_t size, bool ipv6) noexcept;
std::uint32_t continue_icrc(std::uint32_t icrc, std::uint64_t bytes) noexcept;
}  // namespace vpclmul512

}  // namespace longhaul::wire
