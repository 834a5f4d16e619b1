// SPDX-License-Identifier: BSD-3-Clause
// Worlds that random ones left in cases/ and pair_cases/: each broke an invariant once, or was worse with boxes.
#include <catch2/catch.hpp>
#include <string>

#include "case_files.hpp"
#include "pools.hpp"
#include "sim/pair.hpp"
#include "sim/world.hpp"

using namespace longhaul;

namespace {

std::string broken(const sim::Case& c) {
  sim::World world(c, test::sim_pools());
  const sim::Result result = world.run();
  return result.violation ? result.violation->text : "";
}

}  // namespace

TEST_CASE("regressions: cases that broke an invariant once") {
  const auto cases = test::cases_in("cases");
  for (const auto& [name, c] : cases) {
    INFO(name << ": " << sim::to_text(c));
    CHECK(broken(c) == "");
  }
  CHECK(!cases.empty());
}

TEST_CASE("never worse than no box: worlds that were worse once") {
  const auto cases = test::cases_in("pair_cases");
  for (const auto& [name, c] : cases) {
    INFO(name << "\nsee it: build/test/sim/pairs --case '" << sim::to_text(c) << "'");
    CHECK(sim::excepted(c).empty());
    const sim::Pair pair = sim::run_pair(c, test::sim_pools());
    CHECK_FALSE(pair.with.violation);
    const auto worse = sim::worse_off(c, pair);
    CHECK((worse.empty() ? "" : worse.front()) == "");
  }
  CHECK(!cases.empty());
}
