// SPDX-License-Identifier: BSD-3-Clause
// `peers`: what is read, and what is said about mistakes.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "config/box_config.hpp"
#include "config/box_keys.hpp"
#include "peer/key_file.hpp"
#include "support/box_text.hpp"
#include "support/temporary_directory.hpp"

using namespace longhaul;
using namespace longhaul::config;
using namespace longhaul::test;

namespace {

struct KeyFile {
  KeyFile() { write(peer::new_key(peer::system_random())); }
  void write(const std::string& text) const {
    std::filesystem::remove(file());
    std::ofstream(file()) << text;
    std::filesystem::permissions(file(), std::filesystem::perms::owner_read);
  }
  std::string file() const { return directory / "far.key"; }
  std::string peers(const std::string& station, const std::string& boxes = "") const {
    return "peers: {" + station + ", boxes: [" +
           (boxes.empty() ? "{name: far, address: 198.51.100.1, key_file: " + file() + "}" : boxes) + "]}\n";
  }
  std::string box(const std::string& name, const std::string& address) const {
    return "{name: " + name + ", address: \"" + address + "\", key_file: " + file() + "}";
  }
  TemporaryDirectory directory;
};

std::string said_of(const std::string& text) {
  try {
    box_of(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("peers are read with their keys", "[config]") {
  const KeyFile keys;
  CHECK_FALSE(box_of("").peers.has_value());
  const BoxConfig config =
      box_of(keys.peers("address: 192.0.2.1/24, gateway: 192.0.2.254, vlan: 7, port: 5000, dscp: 0"));
  REQUIRE(config.peers.has_value());
  const peer::StationSettings& station = config.peers->settings.station;
  CHECK(station.address() == wire::IpAddress::parse("192.0.2.1"));
  CHECK(station.network.family_length() == 24);
  CHECK(station.gateway == wire::IpAddress::parse("192.0.2.254"));
  CHECK(station.vlan == 7);
  CHECK(station.port == 5000);
  CHECK(station.dscp == 0);
  REQUIRE(config.peers->settings.peers.size() == 1);
  CHECK(config.peers->settings.peers[0].keys.size() == 1);
  const BoxConfig ipv6 = box_of(keys.peers("address: \"2001:db8::1/64\"",
                                           keys.box("far", "2001:db8::2") + ", " + keys.box("south", "2001:db8::3")));
  CHECK(ipv6.peers->settings.station.network.family_length() == 64);
  CHECK(ipv6.peers->settings.station.port == 47910);
  CHECK(ipv6.peers->settings.peers.size() == 2);
}

TEST_CASE("mistakes in peers are explained", "[config]") {
  const KeyFile keys;
  const auto says = [](const std::string& text, const std::string& words) {
    INFO(text);
    const std::string said = said_of(text);
    CHECK_THAT(said, Catch::Matchers::Contains(words));
    CHECK_THAT(said, Catch::Matchers::Contains("box.yaml:"));
  };
  says(keys.peers("address: 192.0.2.1"), "with the length of its network's prefix");
  says(keys.peers("address: 192.0.2.1/33"), "with the length of its network's prefix");
  for (const char* address : {"0.0.0.0/8", "127.0.0.1/8", "224.0.0.1/24", "255.255.255.255/24", "192.0.2.0/24",
                              "192.0.2.255/24", "\"::1/64\"", "\"ff02::1/64\"", "\"::/64\""})
    says(keys.peers(std::string("address: ") + address),
         "peers.address: expected an address that one machine can have");
  says(keys.peers("address: 192.0.2.1/24"), "the way there needs peers.gateway");
  for (const char* address : {"192.0.2.1/0", "192.0.2.1/32", "\"2001:db8::1/128\""})
    says(keys.peers(std::string("address: ") + address), "a network with more machines than one");
  says(keys.peers("address: \"2001:db8::/64\""), "an address that one machine can have");
  for (const char* address : {"192.0.2.255", "192.0.2.0", "224.0.0.5", "255.255.255.255", "0.0.0.0", "127.0.0.1"})
    says(keys.peers("address: 192.0.2.1/24, gateway: 192.0.2.254", keys.box("far", address)),
         "an address that one machine can have");
  for (const char* address : {"ff02::1", "::", "::1"})
    says(keys.peers("address: \"2001:db8::1/64\", gateway: \"fe80::1\"", keys.box("far", address)),
         "an address that one machine can have");
  CHECK(said_of(keys.peers("address: \"2001:db8::1/64\", gateway: \"fe80::1\"", keys.box("far", "2001:db8:9::1")))
            .empty());
  CHECK(said_of(keys.peers("address: 192.0.2.1/31", keys.box("far", "192.0.2.0"))).empty());
  says(keys.peers("address: 192.0.2.1/24, gateway: 192.0.2.255"), "an address that one machine can have");
  says(keys.peers("address: 192.0.2.1/24", keys.box("\"far\\n\"", "192.0.2.2")), "a name of letters");
  says(keys.peers("address: 192.0.2.1/24, gateway: 10.0.0.1"), "is not in the network of peers.address");
  says(keys.peers("address: 192.0.2.1/24, gateway: 192.0.2.1"), "the box's own address");
  says(keys.peers("address: 192.0.2.1/24, gateway: \"2001:db8::1\""), "an IPv4 address, as peers.address is one");
  says(keys.peers("address: 192.0.2.1/24", keys.box("far", "2001:db8::1")), "an IPv4 address");
  says(keys.peers("address: 192.0.2.1/24", keys.box("far", "far.example.org")), "an IP address such as");
  says(keys.peers("address: 192.0.2.1/24", keys.box("far", "192.0.2.1")), "the box's own address");
  says(keys.peers("address: 192.0.2.1/24", keys.box("far", "192.0.2.2") + ", " + keys.box("far", "192.0.2.3")),
       "two peers are called far");
  says(keys.peers("address: 192.0.2.1/24", keys.box("far", "192.0.2.2") + ", " + keys.box("south", "192.0.2.2")),
       "far has this address, too");
  says(keys.peers("address: 192.0.2.1/24, port: 4791"), "the port of RoCEv2");
  says(keys.peers("address: 192.0.2.1/24, vlan: 0"), "4094");
  says("peers: {address: 192.0.2.1/24, boxes: []}\n", "1 to 64 boxes, got none");
  says("peers: {address: 192.0.2.1/24}\n", "boxes");
  says(keys.peers("address: 192.0.2.1/24", "{name: far, address: 192.0.2.2, key_file: far.key}"), "absolute path");
  says(keys.peers("address: 192.0.2.1/24", "{name: far, address: 192.0.2.2, key_file: /nowhere/far.key}"),
       "No such file");
  keys.write("secret\n");
  says(keys.peers("address: 192.0.2.1/24", keys.box("far", "192.0.2.2")), "not a key");
}

TEST_CASE("other keys in the file are a change that a reload applies, another address is not", "[config]") {
  const KeyFile keys;
  const std::string text = keys.peers("address: 192.0.2.1/24", keys.box("far", "192.0.2.2"));
  const BoxConfig before = box_of(text);
  CHECK(changes(before, box_of(text)).empty());
  keys.write(peer::new_key(peer::system_random()));
  const auto changed = changes(before, box_of(text));
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].key == "peers.boxes");
  CHECK(changed[0].live);
  CHECK_THAT(changed[0].after, Catch::Matchers::Contains("192.0.2.2"));
  const auto moved = changes(box_of(text), box_of(keys.peers("address: 192.0.2.9/24", keys.box("far", "192.0.2.2"))));
  REQUIRE(moved.size() == 1);
  CHECK((moved[0].key == "peers.address" && !moved[0].live));
}
