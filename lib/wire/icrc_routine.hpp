// SPDX-License-Identifier: BSD-3-Clause
// Which of ISA-L's CRC-32 routines computes ICRCs: ISA-L chooses by the processor at the first call, and does not
// report its choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace longhaul::wire {

/// The routine in use, by its name in ISA-L, and what it needs: "crc32_gzip_refl_by16_10 (AVX-512 and VPCLMULQDQ)".
/// "unknown" where this cannot be found out, for instance because ISA-L was linked statically and has no names.
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
