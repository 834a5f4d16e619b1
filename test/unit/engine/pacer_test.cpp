// SPDX-License-Identifier: BSD-3-Clause
// How fast custody may send next to passing traffic.
#include "engine/pacer.hpp"

#include <catch2/catch.hpp>

using namespace longhaul;
using namespace longhaul::engine;

namespace {

constexpr std::uint64_t kRate = 1'000'000'000;  // bits per second: 125 bytes a microsecond
constexpr std::int64_t kFrame = 1250;           // takes 10 us

/// The share of `kRate` that custody gets in a second next to a load of `load` times `kRate`, in frames.
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

TEST_CASE("after a pause 20 us of the rate may go at once, and what is owed sets the time", "[engine][pacer]") {
  Pacer pacer(kRate);
  pacer.advance(seconds(1));
  CHECK(pacer.ready_at() == seconds(1));
  // 20 us at 1 Gbit/s are two frames. The third is owed.
  for (unsigned frame = 0; frame < 3; ++frame) {
    CHECK(pacer.may_send());
    pacer.charge_held(kFrame);
  }
  CHECK_FALSE(pacer.may_send());
  CHECK(pacer.ready_at() == Approx(seconds(1) + microseconds(10)).margin(2).epsilon(0));
  pacer.charge(5 * kFrame);
  CHECK(pacer.ready_at() == Approx(seconds(1) + microseconds(60)).margin(2).epsilon(0));
}

TEST_CASE("custody starves after 10 ms, on a slow link after the time of 256 KiB", "[engine][pacer]") {
  struct Row {
    std::uint64_t rate;
    Duration starves_after;
  };
  // 256 KiB take 2.097152 s at 1 Mbit/s, and 10 ms at 210 Mbit/s.
  const auto row = GENERATE(Row{1'000'000, microseconds(2'097'152)}, Row{100'000'000, microseconds(20'971)},
                            Row{1'000'000'000, milliseconds(10)}, Row{100'000'000'000, milliseconds(10)});
  CAPTURE(row.rate);
  Pacer pacer(row.rate);
  pacer.advance(seconds(1));
  pacer.charge(row.rate);  // takes eight seconds
  CHECK_FALSE(pacer.may_send());
  CHECK(pacer.ready_at() == Approx(seconds(1) + row.starves_after).margin(1000).epsilon(0));
}

TEST_CASE("it tells all that was charged, whatever the rate is and was", "[engine][pacer]") {
  const std::uint64_t rate = GENERATE(0u, 1'000'000u, kRate);
  Pacer pacer(rate);
  std::uint64_t charged = 0;
  for (unsigned i = 1; i <= 10'000; ++i) {
    pacer.advance(seconds(1) + i * microseconds(7));
    pacer.charge(i % 1500);
    pacer.charge_held(i % 977);
    charged += i % 1500 + i % 977;
    if (i % 10 == 0) CHECK(pacer.charged_bytes() == charged);
    if (i == 5005) pacer.set_rate(rate == 0 ? kRate : rate / 2);
    if (i == 8005) pacer.set_rate(0);
  }
  CHECK(pacer.charged_bytes() == charged);
  CHECK(pacer.rate_bps() == 0);
}

TEST_CASE("custody has its share at once where what passes is known to leave nothing", "[engine][pacer]") {
  Pacer pacer(kRate);
  pacer.advance(seconds(1));
  pacer.charge(1000 * kFrame);
  CHECK_FALSE(pacer.may_send());
  pacer.begin_share();
  CHECK(pacer.may_send());
}

TEST_CASE("an unconfirmed flow waits for custody alone", "[engine][pacer]") {
  Pacer pacer(kRate);
  pacer.advance(seconds(1));
  pacer.charge(1000 * kFrame);
  CHECK_FALSE(pacer.may_send());
  CHECK(pacer.may_send_unconfirmed());
  std::int64_t held = 0;
  for (Time now = seconds(1); now < seconds(2); now += microseconds(1)) {
    pacer.advance(now);
    for (; pacer.may_send_unconfirmed(); held += kFrame) pacer.charge_unconfirmed(kFrame);
    CHECK(pacer.unconfirmed_ready_at() > now);
  }
  CHECK(static_cast<double>(held) * 8 / kRate == Approx(1).epsilon(0.02));
}

TEST_CASE("each frame takes its overhead, too", "[engine][pacer]") {
  constexpr std::uint32_t kOverhead = 24;
  Pacer pacer(kRate, kOverhead);
  std::uint64_t frames = 0;
  for (Time now = seconds(1); now < seconds(2); now += microseconds(1)) {
    pacer.advance(now);
    for (; pacer.may_send(); ++frames) pacer.charge_held(100);
  }
  CHECK(static_cast<double>(frames * (100 + kOverhead) * 8) / kRate == Approx(1).epsilon(0.02));
  CHECK(pacer.charged_bytes() == frames * (100 + kOverhead));
}
