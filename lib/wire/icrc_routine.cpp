// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc_routine.hpp"

#include <dlfcn.h>
#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace longhaul::wire {
namespace {

struct Routine {
  std::string_view name;
  std::string_view needs;
};
constexpr Routine kRoutines[] = {
    {"crc32_gzip_refl_by16_10", "AVX-512 and VPCLMULQDQ"},
    {"crc32_gzip_refl_by8_02", "AVX and PCLMULQDQ"},
    {"crc32_gzip_refl_by8", "SSE4.1 and PCLMULQDQ"},
    {"crc32_gzip_refl_base", "scalar"},
};

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

#if defined(__x86_64__)
// ISA-L's entry is a jump through a pointer that the first call sets. Its target may be another such jump in ISA-L's
// procedure linkage table.
const void* behind_jumps(const void* entry) {
  constexpr std::uint8_t kEndBranch[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::uint8_t kBound = 0xf2;
  constexpr std::uint8_t kJump[] = {0xff, 0x25};
  for (int jumps = 0; jumps < 4; ++jumps) {
    const auto* code = static_cast<const std::uint8_t*>(entry);
    if (std::memcmp(code, kEndBranch, sizeof(kEndBranch)) == 0) code += sizeof(kEndBranch);
    if (*code == kBound) ++code;
    if (std::memcmp(code, kJump, sizeof(kJump)) != 0) return entry;
    std::int32_t distance = 0;
    std::memcpy(&distance, code + sizeof(kJump), sizeof(distance));
    std::memcpy(&entry, code + sizeof(kJump) + sizeof(distance) + distance, sizeof(entry));
  }
  return entry;
}
#else
const void* behind_jumps(const void* entry) { return entry; }
#endif

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("the CRC-32 of ICRCs, " + icrc_routine_name() + ", is wrong " + what +
                           ": this build or this ISA-L does not match the processor");
}

}  // namespace

std::string icrc_routine_name() {
  const unsigned char none = 0;
  crc32_gzip_refl(0, &none, 0);  // makes ISA-L choose
  Dl_info info{};
  const void* routine = behind_jumps(reinterpret_cast<const void*>(&crc32_gzip_refl));
  if (dladdr(routine, &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != routine) return "unknown";
  const auto* known = std::ranges::find(kRoutines, std::string_view(info.dli_sname), &Routine::name);
  return known == std::end(kRoutines) ? info.dli_sname
                                      : std::string(known->name) + " (" + std::string(known->needs) + ")";
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
