// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc_routine.hpp"

#include <isa-l/crc.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "wire/icrc_mask.hpp"

namespace longhaul::wire {
namespace {

std::uint32_t continue_by_isal(std::uint32_t icrc, std::uint64_t bytes) noexcept {
  return crc32_gzip_refl(icrc, reinterpret_cast<const unsigned char*>(&bytes), sizeof(bytes));
}

constexpr IcrcRoutine kRoutines[] = {
#if defined(__x86_64__)
    {"AVX-512 and VPCLMULQDQ",
     [] {
       return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
              __builtin_cpu_supports("avx512bw");
     },
     vpclmul512::icrc_from_ip, vpclmul512::continue_icrc},
    {"AVX2 and VPCLMULQDQ", [] { return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2"); },
     vpclmul256::icrc_from_ip, vpclmul256::continue_icrc},
    {"PCLMULQDQ", [] { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); },
     pclmul::icrc_from_ip, pclmul::continue_icrc},
#endif
    {"ISA-L", [] { return true; }, nullptr, continue_by_isal},
};

const IcrcRoutine& best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  for (const IcrcRoutine& routine : kRoutines)
    if (routine.supported()) return routine;
  return *std::rbegin(kRoutines);
}

// Whatever computes an ICRC before this file is initialized gets ISA-L's, which is right, too.
constinit const IcrcRoutine* in_use = &kRoutines[std::size(kRoutines) - 1];
[[maybe_unused]] const bool chosen = (in_use = &best(), true);

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

[[noreturn]] void fail(const std::string& which, const std::string& what) {
  throw std::runtime_error(which + " is wrong " + what + ": this build or its ISA-L does not match the processor");
}

constexpr std::size_t kLine = 64;
constexpr std::size_t kLargest = 9600;  ///< beyond the largest frame
constexpr std::size_t kEverySize = 600;

constexpr std::size_t next_size(std::size_t size) { return size + (size < kEverySize ? 1 : 499); }

/// Any bytes that differ will do: the largest size at any place in a cache line, and a line before.
std::vector<unsigned char> any_bytes() {
  std::vector<unsigned char> bytes(kLine + kLine + kLargest);
  std::uint32_t random = 1;
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>((random = random * 1664525 + 1013904223) >> 24);
  return bytes;
}

void check_headers(const IcrcRoutine& routine, bool ipv6) {
  const std::size_t udp = ipv6 ? sizeof(Ipv6Header) : sizeof(Ipv4Header);
  const std::size_t bth = udp + sizeof(UdpHeader);
  const std::vector<unsigned char> bytes = any_bytes();
  for (std::size_t size = bth + offsetof(Bth, ack_req); size <= kLargest; size = next_size(size)) {
    const unsigned char* ip = bytes.data() + kLine + size % kLine;
    std::vector<unsigned char> masked(ip, ip + size);
    mask_for_icrc(masked.data(), ipv6, udp, bth);
    if (routine.from_ip(ip, size, ipv6) != scalar_crc32(kCrcOfOnes, masked.data(), size))
      fail(std::string("the ICRC by ") + routine.name,
           "for " + std::to_string(size) + " bytes of IPv" + (ipv6 ? '6' : '4'));
  }
}

}  // namespace

std::span<const IcrcRoutine> icrc_routines() noexcept { return kRoutines; }

const IcrcRoutine& icrc_routine() noexcept { return *in_use; }

void use_icrc_routine(const IcrcRoutine& routine) noexcept { in_use = &routine; }

std::uint32_t scalar_crc32(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes) {
  return crc32_gzip_refl_base(crc, const_cast<unsigned char*>(data), bytes);  // the routine only reads the data
}

void check_crc32(Crc32 routine) {
  const std::string which = "the CRC-32 of ISA-L";
  for (const Published& published : kPublished) {
    const auto* text = reinterpret_cast<const unsigned char*>(published.text);
    for (const Crc32 each : {routine, Crc32{scalar_crc32}})
      if (each(0, text, std::strlen(published.text)) != published.crc)
        fail(which, "for \"" + std::string(published.text) + '"');
  }
  const std::vector<unsigned char> bytes = any_bytes();
  for (std::size_t size = 0; size <= kLargest; size = next_size(size)) {
    const unsigned char* at = bytes.data() + size % kLine;
    const auto crc = static_cast<std::uint32_t>(size * 0x9e3779b9U);
    if (routine(crc, at, size) != scalar_crc32(crc, at, size)) fail(which, "for " + std::to_string(size) + " bytes");
  }
}

void check_icrc_routine(const IcrcRoutine& routine) {
  const std::vector<unsigned char> bytes = any_bytes();
  for (std::size_t at = 0; at < kEverySize; ++at) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data() + at, sizeof(eight));
    const auto icrc = static_cast<std::uint32_t>(at * 0x9e3779b9U);
    if (routine.continue_icrc(icrc, eight) != scalar_crc32(icrc, bytes.data() + at, sizeof(eight)))
      fail(std::string("the ICRC by ") + routine.name, "for eight more bytes");
  }
  if (routine.from_ip == nullptr) return;
  check_headers(routine, false);
  check_headers(routine, true);
}

void check_icrcs() {
  check_crc32(crc32_gzip_refl);
  check_icrc_routine(icrc_routine());
}

}  // namespace longhaul::wire
