// SPDX-License-Identifier: BSD-3-Clause
// The CRC-32 routine that computes ICRCs: ISA-L chooses it by the processor at the first call, and does not report its
// choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace longhaul::wire {

/// What the routine in use needs of the processor: "AVX-512 and VPCLMULQDQ", "AVX and PCLMULQDQ", "SSE4.1 and
/// PCLMULQDQ" or "scalar". This repeats ISA-L's decision from the same processor features; it does not observe it.
/// "unknown" where it is not x86-64.
std::string icrc_routine_name();

/// zlib's CRC-32 of `bytes` bytes at `data` that follow those whose CRC-32 is `crc`.
using Crc32 = std::uint32_t (*)(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes);

/// ISA-L's portable routine, which needs no processor feature.
std::uint32_t scalar_crc32(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes);

/// Throws std::runtime_error unless `routine` and scalar_crc32() give the published CRC-32s, and agree over many sizes,
/// alignments and start values. Takes milliseconds.
void check_crc32(Crc32 routine);

/// check_crc32() for the routine in use: call it before the first frame. A box with wrong ICRCs would pass all frames
/// as damaged, or corrupt the frames that it makes.
void check_icrc_routine();

}  // namespace longhaul::wire
