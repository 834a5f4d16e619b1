// SPDX-License-Identifier: BSD-3-Clause
// Which of ISA-L's CRC-32 routines computes ICRCs: it chooses by the processor, at the first call, and tells nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace longhaul::wire {

/// The routine in use, by the name it has in ISA-L, and what it needs: "crc32_gzip_refl_by16_10 (AVX-512 and
/// VPCLMULQDQ)". "unknown" where it cannot be found out, for instance because ISA-L was linked statically and has no
/// names.
std::string icrc_routine_name();

/// zlib's CRC-32 of `bytes` bytes at `data` that follow those whose CRC-32 is `crc`.
using Crc32 = std::uint32_t (*)(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes);

/// ISA-L's portable routine, which needs nothing of the processor.
std::uint32_t scalar_crc32(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes);

/// Throws std::runtime_error unless `routine` gives the CRC-32s that are published, and at every size, alignment and
/// start what scalar_crc32() gives, which is held against the same. Milliseconds.
void check_crc32(Crc32 routine);

/// The same for the routine in use: call it before the first frame. A box whose ICRCs are wrong would pass all as
/// damaged, or corrupt what it makes.
void check_icrc_routine();

}  // namespace longhaul::wire
