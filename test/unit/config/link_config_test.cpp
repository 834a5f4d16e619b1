// SPDX-License-Identifier: BSD-3-Clause
// What a link's configuration says about its directions and about single frames.
#include <catch2/catch.hpp>

#include <string>

#include "config/link_config.hpp"

using namespace longhaul;
using namespace longhaul::config;

namespace {

const std::string kLinkPorts = "ports:\n  a: {vdev: \"net_null0\"}\n  b: {vdev: \"net_null1\"}\n";

LinkConfig link_of(const std::string& more) { return read_link(Value::parse(kLinkPorts + more, "link.yaml")); }

}  // namespace

TEST_CASE("one direction of a link changes single keys of both") {
  const LinkConfig config = link_of(
      "seed: 7\nboth: {distance: 100km, rate: 10Gbps, loss: 1%}\nb_to_a: {loss: 0, reorder: {fraction: 1%, extra: "
      "1ms}}\n");
  CHECK(config.link.seed == 7);
  CHECK(config.link.directions[0].loss == Approx(0.01));
  CHECK(config.link.directions[1].loss == 0);
  CHECK(config.link.directions[1].delay == microseconds(500));
  CHECK(config.link.directions[1].rate_bps == 10'000'000'000);
  CHECK(config.link.directions[1].reorder_extra == milliseconds(1));
}

TEST_CASE("events of a link") {
  const LinkConfig config = link_of(
      "events:\n  - {direction: a_to_b, qpn: 0x11, psn: 5, action: drop, count: 3}\n  - {direction: b_to_a, nth: 2, "
      "action: delay, delay: 5ms}\n");
  REQUIRE(config.link.events.size() == 2);
  CHECK(config.link.events[0].qpn == 0x11u);
  CHECK(config.link.events[0].psn == 5u);
  CHECK(config.link.events[0].count == 3);
  CHECK(config.link.events[1].way == link::Way::b_to_a);
  CHECK(config.link.events[1].delay == milliseconds(5));
  CHECK_THROWS_WITH(link_of("events: [{direction: a_to_b, action: drop}]"),
                    Catch::Contains("events[0]: expected either psn or nth"));
  CHECK_THROWS_WITH(link_of("events: [{direction: a_to_b, nth: 1, action: delay}]"),
                    Catch::Contains("the key \"delay\" is missing"));
  CHECK_THROWS_WITH(link_of("events: [{direction: a_to_b, nth: 1, action: drop, delay: 1ms}]"),
                    Catch::Contains("only with `action: delay`"));
  CHECK_THROWS_WITH(link_of("both: {delay: 1ms, distance: 1km}"), Catch::Contains("either distance or delay"));
}
