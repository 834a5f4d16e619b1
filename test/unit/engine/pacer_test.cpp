// SPDX-License-Identifier: BSD-3-Clause
// What custody may send beside what passes.
#include "engine/pacer.hpp"

#include <catch2/catch.hpp>

using namespace longhaul;
using namespace longhaul::engine;

namespace {

constexpr std::uint64_t kRate = 1'000'000'000;  // bits per second: 125 bytes a microsecond
constexpr std::int64_t kFrame = 1250;           // 10 us of it

/// How much of `kRate` custody gets in a second, beside load of so many times it, in frames.
double share_beside(Pacer& pacer, double load, Time begin) {
  constexpr Duration kStep = microseconds(1);
  std::int64_t held = 0;
  double loaded = 0;
  for (Time now = begin; now < begin + seconds(1); now += kStep) {
    pacer.advance(now);
    for (loaded += load * kStep * kRate / 8e9; loaded >= kFrame; loaded -= kFrame) pacer.charge(kFrame);
    for (; pacer.may_send(); held += kFrame) pacer.charge_held(kFrame);
  }
  return static_cast<double>(held) * 8 / kRate;
}

}  // namespace

TEST_CASE("custody has what others leave of the rate, and half of it where they leave none", "[engine][pacer]") {
  Pacer pacer(kRate);
  Time begin = seconds(1);
  for (const double load : {0.0, 0.3, 0.5, 0.9, 0.98}) {
    INFO(load);
    CHECK(share_beside(pacer, load, begin += seconds(2)) == Approx(1 - load).epsilon(0.02));
  }
  for (const double load : {1.0, 1.05, 1.2, 3.0}) {
    INFO(load);
    CHECK(share_beside(pacer, load, begin += seconds(2)) == Approx(0.5).epsilon(0.02));
  }
}

TEST_CASE("it says when custody may send again", "[engine][pacer]") {
  const std::int64_t passed = GENERATE(0, 10, 100'000) * kFrame;
  Pacer pacer(kRate);
  pacer.advance(seconds(1));
  pacer.charge(passed);
  while (pacer.may_send()) pacer.charge_held(kFrame);
  const Time ready = pacer.ready_at();
  REQUIRE(ready > seconds(1));
  CHECK(ready <= seconds(1) + milliseconds(10) + 2);
  pacer.advance(ready - 2);
  CHECK_FALSE(pacer.may_send());
  pacer.advance(ready);
  CHECK(pacer.may_send());
}

TEST_CASE("a load that has ended is made up for within a second", "[engine][pacer]") {
  Pacer pacer(kRate);
  share_beside(pacer, 3, seconds(1));
  share_beside(pacer, 0, seconds(2));
  CHECK(share_beside(pacer, 0, seconds(3)) == Approx(1).epsilon(0.01));
}

TEST_CASE("without a rate all may be sent at once, and a rate holds from when it is set", "[engine][pacer]") {
  Pacer pacer(0);
  pacer.advance(seconds(1));
  pacer.charge_held(std::int64_t{1} << 40);
  CHECK(pacer.may_send());
  CHECK(pacer.ready_at() <= seconds(1));
  pacer.set_rate(kRate);
  CHECK(share_beside(pacer, 0, seconds(2)) == Approx(1).epsilon(0.01));
  pacer.set_rate(kRate / 10);
  CHECK(share_beside(pacer, 0, seconds(3)) == Approx(0.1).epsilon(0.01));
  pacer.set_rate(0);
  pacer.charge_held(std::int64_t{1} << 40);
  CHECK(pacer.may_send());
}
