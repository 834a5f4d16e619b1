// SPDX-License-Identifier: BSD-3-Clause
// A program's own function wins over a shared library's function of the same name. So ICRCs are computed as on a
// processor without carry-less multiplication.
#include <isa-l/crc.h>

#include <catch2/catch.hpp>

#include "wire/icrc_routine.hpp"

namespace {

std::uint64_t calls = 0;

}  // namespace

std::uint32_t crc32_gzip_refl(std::uint32_t crc, const unsigned char* bytes, std::uint64_t size) {
  ++calls;
  return longhaul::wire::scalar_crc32(crc, bytes, size);
}

TEST_CASE("this program's ICRCs are computed by the scalar routine", "[wire][icrc]") {
  const std::uint64_t before = calls;
  CHECK_NOTHROW(longhaul::wire::check_icrcs());
  CHECK(calls > before + 600);
}
