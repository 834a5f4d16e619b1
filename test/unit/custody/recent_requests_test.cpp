// SPDX-License-Identifier: BSD-3-Clause
// The memory of requests that may be another life's: it may hold too much, but never too little.
#include "custody/recent_requests.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "wire/psn.hpp"

using namespace longhaul;
using custody::RecentRequests;
using wire::psn_add;

TEST_CASE("the lowest request is none that was only announced, and none where requests lie too far apart",
          "[recent_requests]") {
  const std::uint32_t base = GENERATE(0u, 1000u, 0x7ffff8u, 0xfffff8u);
  const auto at = [base](std::uint32_t offset) { return psn_add(base, offset); };
  const Time now = seconds(100);
  RecentRequests requests;
  const auto seen = [&](std::uint32_t low, std::uint32_t end) { requests.add(at(low), at(end), now, seconds(1)); };
  requests.add_place(at(500), now);
  CHECK_FALSE(requests.empty());
  CHECK(requests.lowest() == std::nullopt);
  seen(600, 602);
  CHECK(requests.lowest() == at(600));
  seen(590, 591);
  CHECK(requests.lowest() == at(590));
  for (const std::uint32_t away : {1u << 22, 1u << 23, 3u << 22}) requests.add_place(at(away), now);
  CHECK(requests.lowest() == at(590));
  CHECK(requests.top_from(at(590)) == at(602));

  SECTION("another begins beyond a quarter of the circle") { seen(590 + (1 << 22) + 1, 700 + (1 << 22)); }
  SECTION("one before the first by as much") { seen((3u << 22) + 589, (3u << 22) + 590); }
  SECTION("one goes on and on") {
    for (std::uint32_t low = 602; low < (1 << 24) + 602; low += 1000) requests.add(at(low), at(low + 1000), now, 0);
  }
  CHECK(requests.lowest() == std::nullopt);
  seen(600, 602);
  CHECK(requests.lowest() == std::nullopt);
  requests.clear();
  seen(600, 602);
  CHECK(requests.lowest() == at(600));
}

TEST_CASE("a request that does not come again is forgotten after one to two spans, and not in silence",
          "[recent_requests]") {
  RecentRequests requests;
  requests.add(10, 20, seconds(100), seconds(1));
  requests.add(30, 31, seconds(102), seconds(1));
  CHECK(requests.may_end_at(20));
  CHECK_FALSE(requests.forgot());
  requests.add(50, 51, seconds(104), seconds(1));
  CHECK_FALSE(requests.may_end_at(20));
  CHECK(requests.may_end_at(31));
  CHECK(requests.forgot());
}

TEST_CASE("a READ is where it begins and where it may end, whatever the path MTU", "[recent_requests]") {
  const std::uint32_t base = GENERATE(0u, 1000u, 0x7ffff8u, 0xfffff8u);
  const auto at = [base](std::uint32_t offset) { return psn_add(base, offset); };
  RecentRequests requests;
  REQUIRE(requests.add_read(at(10), 8193, seconds(100), seconds(1)));
  CHECK(requests.lowest() == at(10));
  const std::vector<std::uint32_t> responses{33, 17, 9, 5, 3};  // packets, for path MTUs of 256 to 4096 bytes
  for (std::uint32_t offset = 0; offset < 60; ++offset) {
    const bool may_end = std::find(responses.begin(), responses.end(), offset - 10) != responses.end();
    CAPTURE(offset);
    CHECK(requests.may_go_on_at(at(offset)) == (may_end || offset == 10));
    CHECK(requests.may_end_at(at(offset)) == may_end);
    CHECK(requests.may_have_response(at(offset)) == (offset >= 10 && offset < 43));
  }
  CHECK(requests.may_come_to(at(10), 0));
  CHECK(requests.may_come_to(at(14), 1));
  CHECK(requests.may_come_to(at(44), 1));
  CHECK_FALSE(requests.may_come_to(at(45), 1));
  CHECK(requests.top_from(at(5)) == at(43));
  CHECK(requests.top_from(at(50)) == at(50));

  SECTION("one of no bytes has a response") {
    REQUIRE(requests.add_read(at(100), 0, seconds(100), seconds(1)));
    CHECK(requests.may_end_at(at(101)));
    CHECK(requests.may_have_response(at(100)));
    CHECK_FALSE(requests.may_have_response(at(101)));
  }
  SECTION("one of 2^31 bytes passes half of the circle") {
    REQUIRE(requests.add_read(at(100), 1u << 31, seconds(100), seconds(1)));
    CHECK(requests.may_end_at(at(100 + (1 << 23))));
    CHECK(requests.may_end_at(at(100 + (1 << 19))));
    CHECK(requests.may_have_response(at(100 + (1 << 23) - 1)));
  }
  SECTION("there is place for two, and for those again") {
    REQUIRE(requests.add_read(at(300), 64, seconds(100), seconds(1)));
    CHECK_FALSE(requests.add_read(at(400), 64, seconds(100), seconds(1)));
    CHECK_FALSE(requests.may_go_on_at(at(400)));
    CHECK(requests.add_read(at(10), 8193, seconds(100), seconds(1)));
  }
  SECTION("it is forgotten after two spans in which others come") {
    for (const std::uint32_t later : {100, 102, 104}) requests.add(at(200), at(201), seconds(later), seconds(1));
    CHECK(requests.forgot());
    CHECK_FALSE(requests.may_end_at(at(13)));
    CHECK(requests.may_end_at(at(201)));
  }
}
