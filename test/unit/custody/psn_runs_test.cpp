// SPDX-License-Identifier: BSD-3-Clause
// The runs of PSNs of a doubt: they may say too much, but never too little, wherever on the circle they lie.
#include "custody/psn_runs.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "wire/psn.hpp"

using namespace longhaul;
using custody::PsnRuns;
using wire::psn_add;

namespace {

void add(PsnRuns& runs, std::uint32_t low, std::uint32_t end) { runs.add(low, end); }

}  // namespace

TEST_CASE("runs that touch or overlap become one, others stay apart", "[psn_runs]") {
  // With the last base, the runs lie across the end of the circle.
  const std::uint32_t base = GENERATE(0u, 1000u, 0x7ffff8u, 0xfffff8u);
  const auto at = [base](std::uint32_t offset) { return psn_add(base, offset); };
  PsnRuns runs;
  CHECK(runs.empty());
  CHECK_FALSE(runs.has(base));
  CHECK_FALSE(runs.touches(base));

  add(runs, at(10), at(12));
  CHECK_FALSE(runs.has(at(9)));
  CHECK(runs.has(at(10)));
  CHECK(runs.has(at(11)));
  CHECK_FALSE(runs.has(at(12)));
  CHECK(runs.touches(at(12)));
  CHECK_FALSE(runs.touches(at(13)));
  CHECK_FALSE(runs.touches(at(9)));

  add(runs, at(2), at(4));
  CHECK_FALSE(runs.has(at(5)));
  CHECK(runs.top_from(at(0)) == at(12));
  CHECK(runs.top_from(at(13)) == at(13));

  add(runs, at(4), at(6));  // touches one run
  CHECK(runs.has(at(5)));
  CHECK_FALSE(runs.touches(at(7)));
  add(runs, at(5), at(11));  // joins both runs
  for (std::uint32_t offset = 2; offset < 12; ++offset) CHECK(runs.has(at(offset)));
  CHECK_FALSE(runs.has(at(1)));
  CHECK(runs.top_from(at(2)) == at(12));

  runs = PsnRuns{};
  CHECK(runs.empty());
  CHECK_FALSE(runs.has(at(7)));
}

TEST_CASE("an empty run marks a place: nothing is in it, and what follows there touches", "[psn_runs]") {
  PsnRuns runs;
  add(runs, 500, 500);
  CHECK_FALSE(runs.empty());
  CHECK_FALSE(runs.has(500));
  CHECK_FALSE(runs.has(499));
  CHECK(runs.touches(500));
  CHECK_FALSE(runs.touches(501));
  CHECK(runs.top_from(400) == 400);
  add(runs, 500, 503);
  CHECK(runs.has(500));
  CHECK(runs.has(502));
}

TEST_CASE("at random: whatever was added is there, in order, and nothing before the first or after the last",
          "[psn_runs][random]") {
  std::uint64_t exact = 0;
  std::uint64_t joined = 0;
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t n) {
      return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
    };
    // Narrow ranges overlap often. Wide ranges run out of places.
    const std::uint32_t width = 1 + (seed % 2 == 0 ? below(60) : below(2000));
    const std::uint32_t base = below(3) == 0 ? 0x1000000 - below(width) - 1 : below(0x1000000);
    PsnRuns runs;
    std::set<std::uint32_t> added;  // offsets from base
    for (unsigned step = 0; step < 30; ++step) {
      const std::uint32_t low = below(width);
      const std::uint32_t end = low + 1 + below(8);
      add(runs, psn_add(base, low), psn_add(base, end));
      for (std::uint32_t offset = low; offset < end; ++offset) added.insert(offset);

      if (runs.top_from(base) != psn_add(base, *added.rbegin() + 1)) FAIL("top is " << runs.top_from(base));
      for (std::uint32_t offset = 0; offset < width + 10; ++offset) {
        const std::uint32_t psn = psn_add(base, offset);
        const bool has = runs.has(psn);
        if (added.count(offset) != 0) {
          if (!has) FAIL(offset << " was added and is not there");
          ++exact;
        } else if (has) {
          // Happens only if places ran out, and only between two added PSNs.
          ++joined;
          if (offset < *added.begin() || offset > *added.rbegin()) FAIL(offset << " was not added");
        }
        if (has && !runs.touches(psn)) FAIL(offset << " is in a run and does not touch one");
        if (has && !runs.touches(psn_add(psn, 1))) FAIL("what follows on " << offset << " does not touch a run");
      }
    }
  }
  CHECK(exact > 100000);
  CHECK(joined > 100000);
}

TEST_CASE("all round the circle, whatever was added is there", "[psn_runs][random]") {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t n) {
      return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
    };
    PsnRuns runs;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> added;  // low, length
    for (unsigned step = 0; step < 30; ++step) {
      const std::uint32_t length = below(2) == 0 ? 0 : below(4) == 0 ? below(0x1000000) : below(1000);
      added.emplace_back(below(0x1000000), length);
      runs.add(added.back().first, psn_add(added.back().first, length));
      for (const auto& [low, count] : added) {
        if (!runs.touches(low) || !runs.touches(psn_add(low, count))) FAIL(low << " does not touch a run");
        if (count == 0) continue;
        for (const std::uint32_t offset : {0u, count / 2, count - 1})
          if (!runs.has(psn_add(low, offset))) FAIL(low << " + " << offset << " was added and is not there");
      }
    }
  }
}

TEST_CASE("while there are places, the runs are exactly what was added", "[psn_runs][random]") {
  std::mt19937 random(7);
  const auto below = [&random](std::uint32_t n) {
    return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
  };
  for (unsigned round = 0; round < 2000; ++round) {
    const std::uint32_t base = below(0x1000000);
    PsnRuns runs;
    std::set<std::uint32_t> added;
    for (unsigned step = 0; step < 4; ++step) {
      const std::uint32_t low = below(40);
      const std::uint32_t end = low + 1 + below(6);
      add(runs, psn_add(base, low), psn_add(base, end));
      for (std::uint32_t offset = low; offset < end; ++offset) added.insert(offset);
    }
    for (std::uint32_t offset = 0; offset < 50; ++offset) {
      CAPTURE(round, offset);
      if (runs.has(psn_add(base, offset)) != (added.count(offset) != 0)) FAIL("not what was added");
    }
  }
}
