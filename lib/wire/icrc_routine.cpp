// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc_routine.hpp"

#include <isa-l/crc.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace longhaul::wire {
namespace {

struct Published {
  const char* text;
  std::uint32_t crc;
};
// The first is the check value of CRC-32/ISO-HDLC.
constexpr Published kPublished[] = {
    {"123456789", 0xcbf43926},
    {"The quick brown fox jumps over the lazy dog", 0x414fa339},
    {"a", 0xe8b7be43},
    {"", 0},
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("the CRC-32 of ICRCs (ISA-L, " + icrc_routine_name() + ") is wrong " + what +
                           ": this build or this ISA-L does not match the processor");
}

}  // namespace

// The order and conditions are those of the dispatch of ISA-L 2.30 (multibinary.asm). For AVX-512 it asks for VAES too,
// which not every compiler can test; processors with the other features have it. A later ISA-L may know a routine
// between the last two.
std::string icrc_routine_name() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("pclmul")) return "scalar";
  if (!__builtin_cpu_supports("avx")) return "SSE4.1 and PCLMULQDQ";
  const bool avx512 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("gfni") &&
                      __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512vnni") &&
                      __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq");
  return avx512 ? "AVX-512 and VPCLMULQDQ" : "AVX and PCLMULQDQ";
#else
  return "unknown";
#endif
}

std::uint32_t scalar_crc32(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes) {
  return crc32_gzip_refl_base(crc, const_cast<unsigned char*>(data), bytes);  // the routine only reads the data
}

void check_crc32(Crc32 routine) {
  for (const Published& published : kPublished) {
    const auto* text = reinterpret_cast<const unsigned char*>(published.text);
    for (const Crc32 each : {routine, Crc32{scalar_crc32}})
      if (each(0, text, std::strlen(published.text)) != published.crc)
        fail("for \"" + std::string(published.text) + '"');
  }
  // Beyond the largest frame, at all offsets in a cache line. Any bytes that differ will do.
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kLargest = 9600;
  constexpr std::size_t kEverySize = 600;
  std::vector<unsigned char> bytes(kLargest + kLine);
  std::uint32_t random = 1;
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>((random = random * 1664525 + 1013904223) >> 24);
  for (std::size_t size = 0; size <= kLargest; size += size < kEverySize ? 1 : 499) {
    const unsigned char* at = bytes.data() + size % kLine;
    const auto crc = static_cast<std::uint32_t>(size * 0x9e3779b9U);
    if (routine(crc, at, size) != scalar_crc32(crc, at, size)) fail("for " + std::to_string(size) + " bytes");
  }
}

void check_icrc_routine() { check_crc32(crc32_gzip_refl); }

}  // namespace longhaul::wire
