// SPDX-License-Identifier: BSD-3-Clause
// The table of keys knows every key of the configuration, and says what a change is.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "config/box_keys.hpp"
#include "support/box_text.hpp"

using namespace longhaul;
using namespace longhaul::config;
using namespace longhaul::test;

namespace {

std::vector<std::string> changed(const std::string& before, const std::string& after) {
  std::vector<std::string> keys;
  for (const KeyChange& change : changes(box_of(before), box_of(after)))
    keys.push_back(std::string(change.key) + (change.live ? "" : "!"));
  return keys;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("each key of the example that has all of them is in the table", "[config]") {
  std::set<std::string> known;
  for (const BoxKey& key : box_keys()) known.insert(std::string(key.name));
  CHECK(known.size() == box_keys().size());
  const YAML::Node top = YAML::LoadFile(std::string(TEST_ROOT) + "/../config/box-100g.yaml");
  for (const auto& entry : top) {
    const std::string name = entry.first.as<std::string>();
    if (known.contains(name)) continue;
    REQUIRE(entry.second.IsMap());
    for (const auto& inner : entry.second) {
      INFO("key " << name << '.' << inner.first.as<std::string>() << " is not in lib/config/box_keys.cpp");
      CHECK(known.contains(name + '.' + inner.first.as<std::string>()));
    }
  }
}

TEST_CASE("another spelling of the same value is no change", "[config]") {
  CHECK(changed("", "").empty());
  CHECK(changed("", "timers: {give_up: 60s}\n").empty());
  CHECK(changed("timers: {give_up: 1min}\n", "timers: {give_up: 60000ms}\n").empty());
  CHECK(changed("wan_rate: 1Gbps\n", "wan_rate: 1000Mbps\n").empty());
  CHECK(changed("custody: {box_limit: 1GiB}\n", "custody: {box_limit: 1024MiB}\n").empty());
}

TEST_CASE("a change is named by its key, and whether a running box can take it over", "[config]") {
  CHECK(changed("", "wan_rate: 1Gbps\n") == Keys{"wan_rate"});
  CHECK(changed("", "wan_rate: unlimited\n") == Keys{"wan_rate"});
  CHECK(changed("", "timers: {rto_min: 5ms, drain: 1s}\n") == Keys{"timers.rto_min", "timers.drain"});
  CHECK(changed("", "confirm: cm\nlearn_from_traffic: false\n") == Keys{"confirm", "learn_from_traffic"});
  CHECK(changed("policy: {rules: [{match: 10.0.0.0/8, policy: full}]}\n",
                "policy: {rules: [{match: 10.0.0.0/9, policy: full}]}\n") == Keys{"policy.rules"});
  CHECK(changed("", "descriptors: {transmit: 2048}\nflow_control: off\n") ==
        Keys{"descriptors.transmit!", "flow_control!"});
  CHECK(changed("", "name: x\nmtu: 1500\ncores: [0, 1]\nconnections: 9\n") ==
        Keys{"name!", "core!", "mtu!", "connections!"});
  const std::string other = "ports:\n  host: {vdev: \"net_null0\"}\n  wan: {pci: \"0000:01:00.1\", devargs: a=1}\n";
  const auto devargs = changes(box_of(""), read_box(Value::parse(other, "box.yaml")));
  REQUIRE(devargs.size() == 1);
  CHECK((devargs[0].key == "ports.wan" && !devargs[0].live));
  CHECK(changed("control: {socket: /run/a.sock}\n", "control: {socket: /run/b.sock, mode: \"0600\"}\n") ==
        Keys{"control.socket!", "control.mode!"});
  // Keys whose values follow from a promise are named too.
  const Keys promised = changed("", "custody: {round_trip: 10ms, rate: 100Gbps}\n");
  CHECK(std::find(promised.begin(), promised.end(), "custody.round_trip!") != promised.end());
  CHECK(std::find(promised.begin(), promised.end(), "custody.mbufs!") != promised.end());
}

TEST_CASE("the control socket is described as such", "[config]") {
  const ControlConfig control =
      box_of("control: {socket: /run/longhaul/near.sock, mode: \"0600\", group: netops}\n").control;
  CHECK(control.socket == "/run/longhaul/near.sock");
  CHECK(control.mode == 0600);
  CHECK(control.group == "netops");
  CHECK(box_of("").control.socket.empty());
  CHECK(box_of("control: {socket: /a/b}\n").control.mode == 0660);
  const auto refuses = [](const std::string& more, const std::string& why) {
    CHECK_THROWS_WITH(box_of(more), Catch::Contains(why));
  };
  refuses("control: {socket: near.sock}\n", "an absolute path");
  refuses("control: {socket: /run/}\n", "an absolute path");
  refuses("control: {socket: /" + std::string(200, 'x') + "}\n", "107 bytes");
  refuses("control: {socket: /a/b, mode: \"0888\"}\n", "permissions");
  refuses("control: {socket: /a/b, mode: \"7777\"}\n", "permissions");
  refuses("control: {mode: \"0600\"}\n", "without control.socket");
  refuses("control: {sockets: /a/b}\n", "socket");
}
