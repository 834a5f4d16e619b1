// SPDX-License-Identifier: BSD-3-Clause
// The routines that compute ICRCs. The program takes the best that the processor has when it starts.
#pragma once

#include <cstdint>
#include <span>

#include "wire/icrc_fold.hpp"

namespace longhaul::wire {

struct IcrcRoutine {
  const char* name;     ///< by what it needs of the processor, such as "AVX-512 and VPCLMULQDQ"
  bool (*supported)();  ///< by this processor and its operating system
  IcrcFromIp from_ip;   ///< null: frames' headers are masked in a copy, and the CRC-32 is ISA-L's
  ContinueIcrc continue_icrc;
};

/// All routines of this build, the best first. The last needs nothing of the processor.
std::span<const IcrcRoutine> icrc_routines() noexcept;

/// The routine in use: the first of icrc_routines() that the processor supports.
const IcrcRoutine& icrc_routine() noexcept;

/// For tests and benchmarks: from now on `routine` is in use, in all threads. It must live as long as it is.
void use_icrc_routine(const IcrcRoutine& routine) noexcept;

/// zlib's CRC-32 of `bytes` bytes at `data` that follow those whose CRC-32 is `crc`.
using Crc32 = std::uint32_t (*)(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes);

/// ISA-L's portable routine, which needs no processor feature.
std::uint32_t scalar_crc32(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes);

/// Throws std::runtime_error unless `routine` and scalar_crc32() give the published CRC-32s, and agree over many sizes,
/// alignments and start values. Takes milliseconds.
void check_crc32(Crc32 routine);

/// Throws std::runtime_error unless `routine` and scalar_crc32() agree over IPv4 and IPv6 headers with rests of many
/// sizes and alignments. Takes milliseconds.
void check_icrc_routine(const IcrcRoutine& routine);

/// check_icrc_routine() for the routine in use, and check_crc32() for ISA-L's, which frames with IPv4 options need:
/// call it before the first frame. A box with wrong ICRCs would pass all frames as damaged, or corrupt those that it
/// makes.
void check_icrcs();

}  // namespace longhaul::wire
