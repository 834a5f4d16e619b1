// SPDX-License-Identifier: BSD-3-Clause
// The round trip as in RFC 6298, section 2: SRTT, RTTVAR and RTO computed by hand and in floating point.
#include "custody/rtt.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <random>
#include <utility>

using namespace longhaul;
using custody::RttEstimator;

namespace {

Duration timeout(const RttEstimator& rtt) { return rtt.timeout(seconds(1), 0, seconds(60)); }

}  // namespace

TEST_CASE("RFC 6298 by hand: 100 ms, 200 ms, 112.5 ms", "[custody][rtt]") {
  RttEstimator rtt;
  CHECK_FALSE(rtt.known());
  CHECK(rtt.minimum() == 0);
  // (2.2) SRTT = R, RTTVAR = R / 2, RTO = SRTT + 4 RTTVAR.
  rtt.sample(milliseconds(100), seconds(1));
  CHECK(rtt.known());
  CHECK(rtt.smoothed() == milliseconds(100));
  CHECK(timeout(rtt) == milliseconds(300));
  // (2.3) RTTVAR = 3/4 * 50 + 1/4 * 100 = 62.5, SRTT = 7/8 * 100 + 1/8 * 200 = 112.5.
  rtt.sample(milliseconds(200), seconds(2));
  CHECK(rtt.smoothed() == microseconds(112'500));
  CHECK(timeout(rtt) == microseconds(112'500 + 4 * 62'500));
  // No error: RTTVAR = 3/4 * 62.5 = 46.875.
  rtt.sample(microseconds(112'500), seconds(3));
  CHECK(rtt.smoothed() == microseconds(112'500));
  CHECK(timeout(rtt) == microseconds(112'500 + 4 * 46'875));
  CHECK(rtt.minimum() == milliseconds(100));
}

TEST_CASE("RFC 6298 in floating point, over a path whose round trip wanders", "[custody][rtt]") {
  std::mt19937_64 random(1);
  for (unsigned path = 0; path < 20; ++path) {
    RttEstimator rtt;
    const double base = std::pow(10.0, std::uniform_real_distribution(4.0, 8.0)(random));  // 10 us to 100 ms
    double srtt = 0;
    double rttvar = 0;
    for (unsigned i = 0; i < 500; ++i) {
      const auto sample = static_cast<Duration>(base * std::uniform_real_distribution(1.0, 3.0)(random));
      const auto r = static_cast<double>(sample);
      rttvar = i == 0 ? r / 2 : 0.75 * rttvar + 0.25 * std::abs(srtt - r);
      srtt = i == 0 ? r : 0.875 * srtt + 0.125 * r;
      rtt.sample(sample, seconds(1) + i * milliseconds(1));
      // Integers lose less than 2 ns a step. An eighth or a quarter of the loss fades with each step.
      CHECK(std::abs(static_cast<double>(rtt.smoothed()) - srtt) < 20);
      CHECK(std::abs(static_cast<double>(timeout(rtt)) - (srtt + std::max(4 * rttvar, srtt / 4))) < 100);
    }
  }
}

TEST_CASE("a steady path keeps a margin of a quarter, and the timeout its bounds", "[custody][rtt]") {
  RttEstimator rtt;
  CHECK(rtt.timeout(milliseconds(70), milliseconds(100), seconds(1)) == milliseconds(70));  // no round trip is known
  for (unsigned i = 0; i < 200; ++i) rtt.sample(milliseconds(40), seconds(1) + i * milliseconds(40));
  CHECK(timeout(rtt) == milliseconds(50));
  CHECK(rtt.timeout(0, milliseconds(60), seconds(1)) == milliseconds(60));
  CHECK(rtt.timeout(0, 0, milliseconds(45)) == milliseconds(45));
  CHECK(rtt.timeout(0, milliseconds(60), milliseconds(45)) == milliseconds(60));
}

TEST_CASE("the least round trip is that of the last ten to twenty seconds", "[custody][rtt]") {
  constexpr Duration kGap = milliseconds(100);
  std::mt19937_64 random(1);
  RttEstimator rtt;
  std::deque<std::pair<Time, Duration>> samples;
  const auto least_since = [&](Time begin) {
    Duration least = kNever;
    for (const auto& [at, value] : samples)
      if (at >= begin) least = std::min(least, value);
    return least;
  };
  const Time begin = seconds(100);
  for (Time now = begin; now < begin + seconds(200); now += kGap) {
    // The path gets longer after a minute and a half, and shorter again a minute later.
    const Time since = now - begin;
    const Duration path = since > seconds(90) && since < seconds(150) ? milliseconds(30) : milliseconds(10);
    const Duration queued = std::uniform_int_distribution<Duration>(0, milliseconds(20))(random);
    rtt.sample(path + queued, now);
    samples.emplace_back(now, path + queued);
    CHECK(rtt.minimum() <= least_since(now - seconds(10)));
    CHECK(rtt.minimum() >= least_since(now - seconds(20) - 2 * kGap));
  }
}
