// SPDX-License-Identifier: BSD-3-Clause
// Whether worlds with chance are judged right: as good is not called worse, and worse is.
#include <catch2/catch.hpp>
#include <cmath>

#include "pools.hpp"
#include "sim/pair_chance.hpp"

using namespace longhaul;
using sim::Case;
using sim::Result;

namespace {

// 1 % loss both ways, a host that repeats after 20 ms: some runs take several timeouts, some none.
const Case kLossy = sim::parse_case(
    "seed=3 by_packet=1 connected=1 starts_us=1100000 close=0 a.messages=30 a.patient=0 a.timeout_spread=0 "
    "ab1.loss=100 ba1.loss=100");

Result run_plain(const Case& c) { return sim::run_world(c, false, test::sim_pools()); }

/// A run with `change` in place of the boxes.
sim::Run instead(void (*change)(Case&)) {
  return [change](const Case& c, bool with_boxes) {
    Case changed = c;
    if (with_boxes) change(changed);
    return run_plain(changed);
  };
}

}  // namespace

TEST_CASE("ratios: a quantile is at least as large as its part of all ratios") {
  sim::Ratios ratios;
  CHECK(ratios.quantile(0.5) == 0);
  for (int i = 1; i <= 1000; ++i) ratios.add(i / 100.0);
  sim::Ratios more;
  more.add(0);
  more.add(INFINITY);
  ratios.add(more);
  CHECK(ratios.count() == 1002);
  CHECK(ratios.quantile(0.5) == Approx(5.0).epsilon(0.001));
  CHECK(ratios.quantile(0.9) == Approx(9.01).epsilon(0.001));
  CHECK(ratios.quantile(0.998) == Approx(9.99).epsilon(0.001));
  CHECK(ratios.quantile(1) > 1e5);
  CHECK(ratios.quantile(0.0001) < 1e-5);
}

TEST_CASE("a mean is greater only beyond doubt") {
  // Welch's test, example 1 of the Wikipedia article: mean 20.8, variance 7.9.
  sim::Sample welch;
  for (const double value : {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4})
    welch.add(value);
  CHECK(welch.mean() == Approx(20.82).epsilon(1e-3));
  CHECK(welch.variance_of_mean() * 15 == Approx(7.9).epsilon(0.01));

  sim::Sample small, large, few;
  for (int i = 0; i < 64; ++i) {
    small.add(i % 2);            // mean 0.5, variance of the mean 0.254 / 64
    large.add(i % 2 + 0.50);     // 5.6 standard errors more
    if (i < 31) few.add(i + 9);  // too few to tell
  }
  CHECK_FALSE(sim::is_greater(large, small, 1, 0));
  for (int i = 0; i < 64; ++i) large.add(i % 2 + 0.53);
  CHECK(sim::is_greater(large, small, 1, 0));
  CHECK_FALSE(sim::is_greater(large, small, 1.1, 0));
  CHECK_FALSE(sim::is_greater(large, small, 1, 0.1));
  CHECK_FALSE(sim::is_greater(few, small, 1, 0));
  // Without any variance, every difference counts, and no difference does not.
  sim::Sample none, all;
  for (int i = 0; i < 64; ++i) {
    none.add(0);
    all.add(1);
  }
  CHECK(sim::is_greater(all, none, 1, 0));
  CHECK_FALSE(sim::is_greater(none, none, 1, 0));
}

TEST_CASE("luck is another draw of losses, and of nothing else") {
  Case c = kLossy;
  const Result first = run_plain(c), again = run_plain(c);
  CHECK(first.deliveries[0].took == again.deliveries[0].took);
  c.luck = 5;
  CHECK(run_plain(c).deliveries[0].took != first.deliveries[0].took);
  Case calm = c;
  calm.harm = {};
  Case other = calm;
  other.luck = 6;
  CHECK(run_plain(calm).deliveries[0].took == run_plain(other).deliveries[0].took);
}

TEST_CASE("a pair is two runs of the same luck, its control one of other luck") {
  const sim::ChancePair pair = sim::run_chance_pair(kLossy, instead([](Case&) {}));
  CHECK(pair.with.ratios == std::vector<double>{1.0});
  REQUIRE(pair.control.ratios.size() == 1);
  CHECK(pair.control.ratios[0] != 1.0);
  const auto dies = instead([](Case& c) { c.b.dead_at = 1; });
  const sim::ChancePair lost = sim::run_chance_pair(kLossy, dies);
  CHECK(lost.with.ratios.empty());
  CHECK(lost.with.lost_more == 1);
  CHECK(lost.control.lost_more == 0);
}

TEST_CASE("over many draws: as good is not worse, slower is, and so is dead") {
  CHECK(sim::worse_by_chance(kLossy, instead([](Case&) {})).empty());
  CHECK(sim::worse_by_chance(kLossy, instead([](Case& c) { c.luck += 1000; })).empty());
  CHECK(sim::worse_by_chance(kLossy, instead([](Case& c) { c.wan_delay_us /= 2; })).empty());
  // Nine round trips more each way, where one is allowed.
  const auto slow = sim::worse_by_chance(kLossy, instead([](Case& c) { c.wan_delay_us *= 10; }));
  REQUIRE(slow.size() == 1);
  CHECK_THAT(slow[0], Catch::Contains("A>B 0.0 took"));
  const auto dead = sim::worse_by_chance(kLossy, instead([](Case& c) { c.b.dead_at = 1; }));
  REQUIRE(dead.size() == 1);
  CHECK_THAT(dead[0], Catch::Contains("1.00 lost of 1 with boxes, 0.00 without"));
  // The same, but the application closes early, so nothing was promised.
  Case excepted = kLossy;
  excepted.close = sim::number_of(sim::Closing::a);
  CHECK(sim::worse_by_chance(excepted, instead([](Case& c) { c.b.dead_at = 1; })).empty());
}

TEST_CASE("the window binds where the link could take more than a connection may have under way") {
  CHECK(sim::is_bound_by_window(
      sim::parse_case("wan_mbps=100 wan_delay_us=5000 a.messages=64 a.depth=4 a.max_bytes=4096")));
  CHECK_FALSE(sim::is_bound_by_window(
      sim::parse_case("wan_mbps=100 wan_delay_us=5000 a.messages=64 a.depth=16 a.max_bytes=9000")));
}
