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

}  // namespace

TEST_CASE("the routine in use is named by what it needs, and the processor has that", "[wire][icrc]") {
  const std::string name = icrc_routine_name();
  CAPTURE(name);
  const auto flags = processor_flags();
  const auto has = [&](const char* flag) { return flags.contains(flag); };
  if (name == "AVX-512 and VPCLMULQDQ")
    CHECK((has("avx512f") && has("vpclmulqdq")));
  else if (name == "AVX and PCLMULQDQ")
    CHECK((has("avx") && has("pclmulqdq") && !(has("avx512_bitalg") && has("vpclmulqdq"))));
  else if (name == "SSE4.1 and PCLMULQDQ")
    CHECK((has("sse4_1") && has("pclmulqdq") && !has("avx")));
  else
    CHECK((name == "scalar" && !has("pclmulqdq")));
}

TEST_CASE("the routine in use and the scalar one pass the check; one that is wrong anywhere does not", "[wire][icrc]") {
  CHECK_NOTHROW(check_icrc_routine());
  CHECK_NOTHROW(check_crc32(scalar_crc32));
  CHECK_THROWS_WITH(check_crc32(wrong_when_long), Catch::Contains("is wrong for 257 bytes"));
  CHECK_THROWS_WITH(check_crc32(other_polynomial), Catch::Contains("is wrong for \"123456789\""));
}
