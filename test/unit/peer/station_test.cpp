// SPDX-License-Identifier: BSD-3-Clause
// The box's own address: what is for it and what is not, and that nothing it cannot read does harm. The kernel judges
// the answers themselves (test/operate/case_peers.py).
#include <catch2/catch.hpp>

#include <random>
#include <vector>

#include "peer/station.hpp"
#include "support/two_boxes.hpp"

using namespace longhaul;
using peer::Bytes;
using peer::Station;

namespace {

using Octets = std::vector<std::uint8_t>;

struct Outside final : peer::StationHost {
  void transmit(Bytes frame) override { sent.emplace_back(frame.begin(), frame.end()); }
  void datagram(const wire::IpAddress&, Bytes payload, Time) override {
    datagrams.emplace_back(payload.begin(), payload.end());
  }
  std::vector<Octets> sent;
  std::vector<Octets> datagrams;
};

constexpr wire::MacAddress kOwnMac = {2, 0, 0, 0, 0, 1};
constexpr wire::MacAddress kOtherMac = {2, 0, 0, 0, 0, 2};

peer::StationSettings at(const char* address, std::optional<std::uint16_t> vlan = std::nullopt) {
  peer::StationSettings settings;
  settings.network = test::network_of(address);
  settings.vlan = vlan;
  return settings;
}

/// All that one station says to another which it does not know yet, and to one that it does: the question for its MAC
/// address, the answer, and a datagram.
std::vector<Octets> conversation(const char* own, const char* other, std::optional<std::uint16_t> vlan = std::nullopt) {
  Outside here;
  Outside there;
  Station a(at(own, vlan), kOwnMac, here);
  Station b(at(other, vlan), kOtherMac, there);
  const Octets payload(100, 7);
  a.send(wire::IpAddress::parse(other), payload, seconds(1));
  REQUIRE(here.sent.size() == 1);
  REQUIRE(b.is_for_us(here.sent[0]));
  b.take(here.sent[0], seconds(1));
  REQUIRE(there.sent.size() == 1);
  REQUIRE(a.is_for_us(there.sent[0]));
  a.take(there.sent[0], seconds(1));
  a.send(wire::IpAddress::parse(other), payload, seconds(1));
  REQUIRE(here.sent.size() == 2);
  b.take(here.sent[1], seconds(1));
  REQUIRE(there.datagrams == std::vector<Octets>{payload});
  return {here.sent[0], there.sent[0], here.sent[1]};
}

}  // namespace

TEST_CASE("two stations find each other, with a VLAN tag or without", "[peer][station]") {
  conversation("192.0.2.1", "192.0.2.2");
  conversation("2001:db8::1", "2001:db8::2");
  for (const Octets& frame : conversation("192.0.2.1", "192.0.2.2", 100)) {
    REQUIRE(frame.size() > 18);
    CHECK((frame[12] == 0x81 && frame[13] == 0x00 && frame[14] == 0 && frame[15] == 100));
  }
}

TEST_CASE("what is in another VLAN, or for another address, is not the box's", "[peer][station]") {
  const auto untagged = conversation("192.0.2.1", "192.0.2.2");
  const auto tagged = conversation("192.0.2.1", "192.0.2.2", 100);
  Outside outside;
  const Station same(at("192.0.2.2"), kOtherMac, outside);
  const Station same_tagged(at("192.0.2.2", 100), kOtherMac, outside);
  const Station other_tagged(at("192.0.2.2", 101), kOtherMac, outside);
  const Station other(at("192.0.2.3"), kOtherMac, outside);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    CHECK(same.is_for_us(untagged[i]));
    CHECK_FALSE(same.is_for_us(tagged[i]));
    CHECK(same_tagged.is_for_us(tagged[i]));
    CHECK_FALSE(same_tagged.is_for_us(untagged[i]));
    CHECK_FALSE(other_tagged.is_for_us(tagged[i]));
    CHECK_FALSE(other.is_for_us(untagged[i]));
  }
  // A tag with VID 0 gives a priority and no VLAN.
  Octets priority = untagged[2];
  const Octets tag = {0x81, 0x00, 0xa0, 0x00};
  priority.insert(priority.begin() + 12, tag.begin(), tag.end());
  CHECK(same.is_for_us(priority));
}

TEST_CASE("a solicitation for a host with the same last bytes is the host's", "[peer][station]") {
  const auto frames = conversation("2001:db8::1", "2001:db8::2");
  Outside outside;
  const Station neighbour(at("2001:db8:0:0:1::2"), kOtherMac, outside);  // the same group
  CHECK_FALSE(neighbour.is_for_us(frames[0]));
}

TEST_CASE("another prefix is reached by the gateway", "[peer][station]") {
  Outside outside;
  peer::StationSettings settings = at("192.0.2.1");
  settings.gateway = wire::IpAddress::parse("192.0.2.254");
  Station station(settings, kOwnMac, outside);
  const auto asked_for = [&] { return outside.sent.back().back(); };
  station.send(wire::IpAddress::parse("198.51.100.7"), Octets(8), seconds(1));
  CHECK(asked_for() == 254);
  station.send(wire::IpAddress::parse("192.0.2.9"), Octets(8), seconds(1));
  CHECK(asked_for() == 9);
  // Not more than once a second, however often something wants to go.
  for (int i = 0; i < 100; ++i) station.send(wire::IpAddress::parse("192.0.2.9"), Octets(8), seconds(1) + i);
  CHECK(outside.sent.size() == 2);
}

TEST_CASE("an address that nobody confirms is forgotten", "[peer][station]") {
  Outside outside;
  Station station(at("192.0.2.1"), kOwnMac, outside);
  const auto answer = conversation("192.0.2.1", "192.0.2.2")[1];
  const wire::IpAddress other = wire::IpAddress::parse("192.0.2.2");
  // What was not asked for is not believed.
  station.take(answer, seconds(1));
  CHECK_FALSE(station.is_resolved(other, seconds(1)));
  station.send(other, Octets(8), seconds(1));
  station.take(answer, seconds(1));
  CHECK(station.is_resolved(other, seconds(80)));
  CHECK_FALSE(station.is_resolved(other, seconds(91)));
}

TEST_CASE("questions are answered to a limit", "[peer][station]") {
  for (const auto& frames : {conversation("192.0.2.1", "192.0.2.2"), conversation("2001:db8::1", "2001:db8::2")}) {
    Outside outside;
    Station station(at(frames[0][13] == 0x06 ? "192.0.2.2" : "2001:db8::2"), kOtherMac, outside);
    for (int i = 0; i < 1000; ++i) station.take(frames[0], seconds(5));
    CHECK(outside.sent.size() == 100);
    station.take(frames[0], seconds(6));
    CHECK(outside.sent.size() == 101);
  }
}

// Under the address sanitizer: no length or offset in a frame leads beyond it.
TEST_CASE("frames that are cut short or altered do no harm", "[peer][station]") {
  std::mt19937 engine(11);
  const auto luck = [&] { return static_cast<std::uint32_t>(engine()); };
  for (const auto& [own, other] : {std::pair{"192.0.2.1", "192.0.2.2"}, std::pair{"2001:db8::1", "2001:db8::2"}}) {
    for (const Octets& frame : conversation(own, other)) {
      for (const char* whose : {own, other}) {
        Outside outside;
        Station station(at(whose), kOtherMac, outside);
        for (std::size_t size = 0; size <= frame.size(); ++size) {
          const Octets cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
          if (station.is_for_us(cut)) station.take(cut, seconds(1));
        }
        for (int i = 0; i < 5000; ++i) {
          Octets altered = frame;
          for (std::uint32_t n = 1 + luck() % 3; n > 0; --n)
            altered[luck() % altered.size()] = static_cast<std::uint8_t>(luck());
          if (station.is_for_us(altered)) station.take(altered, seconds(2));
        }
      }
    }
  }
}

TEST_CASE("who pings often keeps nobody from asking for the address", "[peer][station]") {
  const auto frames = conversation("192.0.2.1", "192.0.2.2");
  Outside outside;
  Station station(at("192.0.2.2"), kOtherMac, outside);
  // An echo request with good checksums, from 192.0.2.1.
  const Octets ping = {2, 0,  0, 0,    0,    2,   2, 0, 0, 0,   0, 1, 8, 0, 0x45, 0,    0,    28, 0, 0, 0,
                       0, 64, 1, 0xf6, 0xdd, 192, 0, 2, 1, 192, 0, 2, 2, 8, 0,    0xf7, 0xff, 0,  0, 0, 0};
  REQUIRE(station.is_for_us(ping));
  for (int i = 0; i < 10'000; ++i) station.take(ping, seconds(1));
  CHECK(outside.sent.size() == 100);
  CHECK(station.not_understood() == 0);
  station.take(frames[0], seconds(1));
  CHECK(outside.sent.size() == 101);
}

TEST_CASE("another machine with the box's address is noticed, and not answered", "[peer][station]") {
  Outside outside;
  Station station(at("192.0.2.1"), kOwnMac, outside);
  Octets claim = conversation("192.0.2.1", "192.0.2.2")[0];
  constexpr std::size_t kSenderMac = 14 + 8;
  constexpr std::size_t kTarget = 14 + 24;
  claim[kSenderMac + 5] = 9;
  claim[kTarget + 3] = 1;  // it says 192.0.2.1 is at its MAC address, and asks for 192.0.2.1
  REQUIRE(station.is_for_us(claim));
  station.take(claim, seconds(1));
  CHECK(station.conflicts() == 1);
  CHECK(outside.sent.empty());
}
