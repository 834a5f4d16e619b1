// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "config/quantity.hpp"

using namespace longhaul;
using namespace longhaul::config;

TEST_CASE("sizes") {
  CHECK(parse_size("64MiB") == 64ull << 20);
  CHECK(parse_size("4KiB") == 4096);
  CHECK(parse_size("1.5KiB") == 1536);
  CHECK(parse_size("1GB") == 1'000'000'000);
  CHECK(parse_size("512 B") == 512);
  CHECK(parse_size("0") == 0);
}

TEST_CASE("durations, rates, distances") {
  CHECK(parse_duration("5ms") == 5'000'000);
  CHECK(parse_duration("200us") == 200'000);
  CHECK(parse_duration("3s") == seconds(3));
  CHECK(parse_duration("1min") == seconds(60));
  CHECK(parse_duration("0.25us") == 250);
  CHECK(parse_rate("100Gbps") == 100'000'000'000);
  CHECK(parse_rate("2.5Gbps") == 2'500'000'000);
  CHECK(parse_distance("1000km") == milliseconds(5));
  CHECK(parse_distance("1534km") == microseconds(7670));
}

TEST_CASE("a quantity that is not exactly one says what was expected") {
  CHECK_THROWS_WITH(parse_size("64"),
                    "expected a size such as 64MiB, 4KiB or 512B, got \"64\": the unit is missing (B, KiB, MiB, GiB, "
                    "TiB, kB, KB, MB, GB, TB)");
  CHECK_THROWS_WITH(parse_duration("5 parsecs"), Catch::Contains("unknown unit \"parsecs\""));
  CHECK_THROWS_WITH(parse_size("1.3B"), Catch::Contains("not a whole number of bytes"));
  CHECK_THROWS_WITH(parse_size("99999999999TiB"), Catch::Contains("too large"));
  CHECK_THROWS_WITH(parse_rate("99999999999999999999999bps"), Catch::Contains("too many digits"));
  for (const char* bad : {"", "ms", "-5ms", "1.", ".", "1..5ms", "5ms ", "0x5ms", "5MS", "1e3ms"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_duration(bad), QuantityError);
  }
}

TEST_CASE("fractions") {
  CHECK(parse_fraction("1%") == Approx(0.01));
  CHECK(parse_fraction("1e-3") == Approx(0.001));
  CHECK(parse_fraction("0.01") == Approx(0.01));
  CHECK(parse_fraction("0") == 0);
  CHECK(parse_fraction("100%") == 1);
  for (const char* bad : {"101%", "-1%", "1.01", "nan", "inf", "", "%", "1%%", "a"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_fraction(bad), QuantityError);
  }
}
