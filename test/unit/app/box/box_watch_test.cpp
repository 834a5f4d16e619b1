// SPDX-License-Identifier: BSD-3-Clause
// What the attendant decides on: workers that stand still, links that follow each other.
#include <catch2/catch.hpp>

#include <array>

#include "app/box/link_follow.hpp"
#include "app/box/pause_watch.hpp"
#include "app/box/worker_watch.hpp"

using namespace longhaul;
using namespace longhaul::app;

namespace {

using Change = LinkFollow::Change;

/// Both links are up, long after they were set up.
LinkFollow followed(Time now) {
  LinkFollow follow(now - LinkFollow::kSettle);
  REQUIRE_FALSE(follow.look(true, true, now));
  return follow;
}

}  // namespace

TEST_CASE("a worker whose rounds do not grow stands still after that time, once, and its going on is told") {
  WorkerWatch watch(2, milliseconds(500));
  Time now = seconds(1);
  std::array<std::uint64_t, 2> rounds{1, 1};
  const auto look = [&] {
    now += milliseconds(100);
    ++rounds[0];
    return watch.look(rounds, now);
  };
  for (int i = 0; i < 5; ++i) CHECK(look().empty());
  CHECK(look() == std::vector<WorkerWatch::Event>{{1, true, milliseconds(500)}});
  CHECK(watch.stands_still(1));
  CHECK_FALSE(watch.stands_still(0));
  CHECK(look().empty());
  ++rounds[1];
  CHECK(look() == std::vector<WorkerWatch::Event>{{1, false, milliseconds(600)}});
  CHECK_FALSE(watch.stands_still(1));
  CHECK(watch.stalls() == 1);
}

TEST_CASE("when the watcher itself stood still, its workers are not blamed") {
  WorkerWatch watch(1, seconds(1));
  std::array<std::uint64_t, 1> rounds{1};
  CHECK(watch.look(rounds, seconds(1)).empty());
  CHECK(watch.look(rounds, seconds(1) + milliseconds(100)).empty());
  CHECK(watch.look(rounds, seconds(60)).empty());
  CHECK_FALSE(watch.stands_still(0));
}

TEST_CASE("a pause is told once, with the workers that shared it; those that follow at once are told together") {
  PauseWatch watch(3);
  std::array<Pauses, 3> pauses{};
  Time now = seconds(1);
  CHECK_FALSE(watch.look(pauses, now));
  pauses[0] = {1, seconds(4)};
  pauses[2] = {1, seconds(5)};
  const auto first = watch.look(pauses, now += milliseconds(100));
  REQUIRE(first);
  CHECK(first->workers == 2);
  CHECK(first->most.count == 1);
  CHECK(first->most.lasted == seconds(5));
  CHECK_FALSE(watch.look(pauses, now += milliseconds(100)));
  pauses[1] = {2, milliseconds(150)};
  CHECK_FALSE(watch.look(pauses, now += milliseconds(100)));
  pauses[1] = {3, milliseconds(250)};
  const auto second = watch.look(pauses, now += PauseWatch::kQuiet);
  REQUIRE(second);
  CHECK(second->workers == 1);
  CHECK(second->most.count == 3);
  CHECK(second->most.lasted == milliseconds(250));
  CHECK_FALSE(watch.look(pauses, now += milliseconds(100)));
  // A long pause is reported at once.
  pauses[0] = {2, seconds(5)};
  const auto third = watch.look(pauses, now += milliseconds(100));
  REQUIRE(third);
  CHECK(third->workers == 1);
  CHECK(third->most.lasted == seconds(1));
}

TEST_CASE("the link of one port follows the other's, down and up again") {
  const Side lost = GENERATE(Side::host, Side::wan);
  const auto look = [lost](LinkFollow& follow, bool lost_up, bool other_up, Time now) {
    return lost == Side::host ? follow.look(lost_up, other_up, now) : follow.look(other_up, lost_up, now);
  };
  Time now = seconds(100);
  LinkFollow follow = followed(now);
  CHECK(look(follow, false, true, now) == Change{other(lost), false});
  CHECK(follow.held() == other(lost));
  // The link that is held down is not another loss.
  CHECK_FALSE(look(follow, false, false, now += seconds(1)));
  CHECK(look(follow, true, false, now += seconds(1)) == Change{other(lost), true});
  // This link needs time to come up. The first port does not follow it meanwhile.
  CHECK_FALSE(look(follow, true, false, now += seconds(1)));
  CHECK_FALSE(look(follow, true, true, now += seconds(1)));
  // From then on the first port follows it again.
  CHECK(look(follow, true, false, now += milliseconds(50)) == Change{lost, false});
}

TEST_CASE("a link that does not come up in time is lost") {
  LinkFollow follow(seconds(100));
  CHECK_FALSE(follow.look(true, false, seconds(100)));
  CHECK_FALSE(follow.look(true, false, seconds(104)));
  CHECK(follow.look(true, false, seconds(105)) == Change{Side::host, false});
  CHECK(follow.look(false, true, seconds(200)) == Change{Side::host, true});
}

TEST_CASE("when both links are down there is nothing to take down") {
  LinkFollow follow = followed(seconds(100));
  CHECK_FALSE(follow.look(false, false, seconds(101)));
  CHECK(follow.look(true, false, seconds(102)) == Change{Side::host, false});
}
