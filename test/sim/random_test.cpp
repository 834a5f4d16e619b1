// SPDX-License-Identifier: BSD-3-Clause
// Random worlds, drawn and shrunk by RapidCheck. What earlier ones left is in kept_test.cpp.
//
// LONGHAUL_CASES: how many (10,000). LONGHAUL_SECONDS: how long at most (100). LONGHAUL_SEED: the seed of the run.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "pools.hpp"
#include "sim/lane_twins.hpp"
#include "sim/world.hpp"

using namespace longhaul;

namespace longhaul::sim {

void showValue(const Case& c, std::ostream& out) {
  out << to_text(c) << "\nreplay: build/test/sim/soak --trace --case '" << to_text(c) << "'";
}

}  // namespace longhaul::sim

namespace {

std::uint64_t setting(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

/// In a sixth of the worlds the boxes are peers.
sim::Case draw(std::uint64_t seed) {
  const sim::Case c = sim::draw_case(seed);
  return seed % 6 == 0 ? sim::with_random_peers(c) : c;
}

/// Each draw is a case with its own seed. If it fails, simpler ones are tried.
rc::Gen<sim::Case> any_case() {
  return [](const rc::Random& given, int) {
    rc::Random random = given;
    return rc::shrinkable::shrinkRecur(draw(random.next()),
                                       [](const sim::Case& c) { return rc::seq::fromContainer(sim::simpler(c)); });
  };
}

}  // namespace

TEST_CASE("at random: every invariant holds in every world") {
  using Clock = std::chrono::steady_clock;
  const std::uint64_t cases = setting("LONGHAUL_CASES", 10000);
  const std::uint64_t seed = setting("LONGHAUL_SEED", 1);
  const auto until = Clock::now() + std::chrono::seconds(setting("LONGHAUL_SECONDS", 100));
  setenv("RC_PARAMS",
         ("seed=" + std::to_string(seed) + " max_success=" + std::to_string(cases) + " verbose_progress=0").c_str(), 1);
  std::uint64_t ran = 0, repaired = 0, with_gaps = 0;
  sim::Totals totals;
  std::string first, last;
  const bool held = rc::check("every invariant holds", [&] {
    const sim::Case c = *any_case();
    // Cases for which there is no time count as not run, and the output says so.
    if (Clock::now() > until) return;
    ++ran;
    sim::World world(c, test::sim_pools());
    const sim::Result result = world.run();
    totals.add(result.totals);
    // Worlds, because few of them have most of the repairs.
    repaired += result.totals.repairs > 0;
    with_gaps += result.totals.far_gaps > 0;
    if (!result.violation) return;
    last = result.violation->text + "\n  " + sim::to_text(c);
    if (first.empty()) first = last;
    RC_FAIL(result.violation->text);
  });
  std::cerr << "random worlds: " << ran << " of " << cases << " ran, LONGHAUL_SEED=" << seed << "\n";
  INFO(repaired << " with repairs, " << with_gaps << " with gaps");
  INFO("first: " << first << "\nsimplest: " << last);
  CHECK(held);
  if (ran < 1000 || !held) return;
  // If nothing happened in the worlds, every invariant would hold.
  CHECK(totals.pseudo_acks > 5 * ran);
  CHECK(totals.resends > ran);
  CHECK(repaired > ran / 200);
  CHECK(with_gaps > ran / 200);
  CHECK(totals.readdressed > 0);
  CHECK(totals.lost > ran);
  CHECK(totals.fatal_naks > 0);
  CHECK(totals.refused_custody > 0);
  CHECK(totals.rejoined > 0);
  CHECK(totals.dreqs_held > 0);
  CHECK(totals.forged > ran);
  CHECK(totals.pauses > 0);
  CHECK(totals.doubted > ran / 10);
  CHECK(totals.resumed > 0);
  CHECK(totals.began_again > 0);
  CHECK(totals.unconfirmed_in_doubt > 0);
  CHECK(totals.handed_over > ran);
  CHECK(totals.handed_home > ran);
}

TEST_CASE("at random: a world is the same without the lane") {
  constexpr std::uint64_t kCases = 2000;
  constexpr std::uint64_t kAttackedOf = 8;
  const std::uint64_t seed = setting("LONGHAUL_SEED", 1);
  std::uint64_t lane_frames = 0;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    sim::Case c = sim::draw_case(seed + i);
    if (i % kAttackedOf == 0) c = sim::with_random_attack(c);
    INFO(sim::to_text(c) << "\nsee it: build/test/sim/soak --lane --seed " << seed + i << " --cases 1"
                         << (i % kAttackedOf == 0 ? " --tenants" : ""));
    const sim::LaneTwins twins = sim::run_lane_twins(c, test::sim_pools());
    CHECK(twins.difference == "");
    lane_frames += twins.lane_frames;
  }
  CHECK(lane_frames > 2 * kCases);
}
