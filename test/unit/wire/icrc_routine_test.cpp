// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc_routine.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

using namespace longhaul::wire;

namespace {

std::set<std::string> processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

std::uint32_t wrong_when_long(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes) {
  return scalar_crc32(crc, data, bytes) ^ (bytes > 256 ? 1 : 0);
}

std::uint32_t other_polynomial(std::uint32_t crc, const unsigned char* data, std::uint64_t bytes) {
  return crc32_ieee(crc, data, bytes);
}

std::uint32_t by_best(const std::uint8_t* ip, std::size_t size, bool ipv6) {
  return icrc_routine().from_ip(ip, size, ipv6);
}

}  // namespace

TEST_CASE("the routine in use is the best that the processor has", "[wire][icrc]") {
  const std::string name = icrc_routine().name;
  CAPTURE(name);
  const auto flags = processor_flags();
  const auto has = [&](const char* flag) { return flags.contains(flag); };
  if (has("vpclmulqdq") && has("avx512f") && has("avx512bw"))
    CHECK(name == "AVX-512 and VPCLMULQDQ");
  else if (has("vpclmulqdq") && has("avx2"))
    CHECK(name == "AVX2 and VPCLMULQDQ");
  else if (has("pclmulqdq"))
    CHECK(name == "PCLMULQDQ");
  else
    CHECK(name == "ISA-L");
}

TEST_CASE("each routine of the processor and ISA-L's CRC-32 pass the check", "[wire][icrc]") {
  CHECK_NOTHROW(check_icrcs());
  CHECK_NOTHROW(check_crc32(scalar_crc32));
  for (const IcrcRoutine& routine : icrc_routines()) {
    CAPTURE(routine.name);
    if (routine.supported()) CHECK_NOTHROW(check_icrc_routine(routine));
  }
}

TEST_CASE("a CRC-32 that is wrong anywhere does not pass the check", "[wire][icrc]") {
  CHECK_THROWS_WITH(check_crc32(wrong_when_long), Catch::Contains("is wrong for 257 bytes"));
  CHECK_THROWS_WITH(check_crc32(other_polynomial), Catch::Contains("is wrong for \"123456789\""));
}

TEST_CASE("a routine that is wrong anywhere does not pass the check", "[wire][icrc]") {
  IcrcRoutine routine = icrc_routine();
  if (routine.from_ip == nullptr) return;
  routine.name = "a broken one";
  const auto why = Catch::Contains("a broken one is wrong");

  SECTION("beyond a size") {
    routine.from_ip = [](const std::uint8_t* ip, std::size_t size, bool ipv6) noexcept {
      return by_best(ip, size, ipv6) ^ (size > 9000 ? 1U : 0U);
    };
    CHECK_THROWS_WITH(check_icrc_routine(routine), why && Catch::Contains("bytes of IPv4"));
  }
  SECTION("at an odd size") {
    routine.from_ip = [](const std::uint8_t* ip, std::size_t size, bool ipv6) noexcept {
      return by_best(ip, size, ipv6) ^ (size == 133 ? 1U : 0U);
    };
    CHECK_THROWS_WITH(check_icrc_routine(routine), why && Catch::Contains("for 133 bytes of IPv4"));
  }
  SECTION("with IPv6") {
    routine.from_ip = [](const std::uint8_t* ip, std::size_t size, bool) noexcept { return by_best(ip, size, false); };
    CHECK_THROWS_WITH(check_icrc_routine(routine), why && Catch::Contains("bytes of IPv6"));
  }
  SECTION("for eight more bytes") {
    routine.continue_icrc = [](std::uint32_t icrc, std::uint64_t bytes) noexcept {
      return icrc_routine().continue_icrc(icrc, bytes & 0x7fffffffffffffff);
    };
    CHECK_THROWS_WITH(check_icrc_routine(routine), why && Catch::Contains("for eight more bytes"));
  }
}
