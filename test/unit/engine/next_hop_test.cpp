// SPDX-License-Identifier: BSD-3-Clause
// Design section 6: a resend goes where its host sends now, not where the host sent the packet at first.
#include <algorithm>
#include <catch2/catch.hpp>
#include <span>

#include "support/rig.hpp"
#include "wire/neighbour.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

constexpr std::uint8_t kOld = 0xbb;  // the next hop of Pair's frames from host A: 02:00:00:00:00:bb
constexpr std::uint8_t kNew = 0xcc;

/// The same frame to another next hop.
Bytes to(Bytes frame, std::uint8_t next_hop) {
  frame[5] = next_hop;
  return frame;
}

/// The last bytes of the destination MAC addresses of all frames that left for the WAN since the last call.
std::vector<unsigned> next_hops(Rig& rig) {
  std::vector<unsigned> last;
  for (const Seen& seen : rig.wan_out) last.push_back(seen.bytes[5]);
  rig.wan_out.clear();
  return last;
}

struct Arp {
  std::uint8_t operation = 1;
  std::uint8_t sender_mac = kNew;
  std::uint8_t sender_ip = 2;  ///< 10.0.0.x
  std::uint8_t target_ip = 2;
};

Bytes arp(const Arp& says, std::uint16_t vlan = 0) {
  Bytes frame = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, says.sender_mac};
  if (vlan != 0)
    for (const int byte : {0x81, 0x00, vlan >> 8, vlan & 0xff}) frame.push_back(static_cast<std::uint8_t>(byte));
  for (const int byte : {8, 6, 0, 1, 8, 0, 6, 4, 0, +says.operation}) frame.push_back(static_cast<std::uint8_t>(byte));
  const Bytes sender = {2, 0, 0, 0, 0, says.sender_mac, 10, 0, 0, says.sender_ip};
  const Bytes target = {0, 0, 0, 0, 0, 0, 10, 0, 0, says.target_ip};
  frame.insert(frame.end(), sender.begin(), sender.end());
  frame.insert(frame.end(), target.begin(), target.end());
  return frame;
}

struct Advertisement {
  std::uint8_t mac = kNew;
  std::uint8_t target = 2;  ///< fd00::x
  std::uint8_t flags = 0x20;
  std::uint8_t hop_limit = 255;
  std::uint8_t code = 0;
  std::uint8_t option_units = 1;
  std::uint16_t checksum_error = 0;
  bool to_all = true;  ///< all nodes; false: the host that asked, fd00::1
};

Bytes advertisement(const Advertisement& says) {
  const Bytes source = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, says.target};
  const Bytes destination = says.to_all ? Bytes{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
                                        : Bytes{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  Bytes message = {136, says.code, 0, 0, says.flags, 0, 0, 0};
  message.insert(message.end(), source.begin(), source.end());
  const Bytes option = {2, says.option_units, 2, 0, 0, 0, 0, says.mac};
  message.insert(message.end(), option.begin(), option.end());
  std::uint32_t sum = 32 + 58;
  for (const Bytes* part : {&source, &destination, &std::as_const(message)})
    for (std::size_t i = 0; i < part->size(); i += 2)
      sum += static_cast<std::uint32_t>((*part)[i] << 8 | (*part)[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  const std::uint32_t checksum = (~sum & 0xffff) ^ says.checksum_error;
  message[2] = static_cast<std::uint8_t>(checksum >> 8);
  message[3] = static_cast<std::uint8_t>(checksum);
  Bytes frame = {0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, says.mac, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, says.hop_limit};
  for (const Bytes* part : {&source, &destination, &std::as_const(message)})
    frame.insert(frame.end(), part->begin(), part->end());
  return frame;
}

Pair over_ipv6() {
  Pair pair;
  pair.a_ip = "fd00::1";
  pair.b_ip = "fd00::2";
  return pair;
}

/// The box acknowledges PSN 101 to A, and the responder does not answer it. A sends nothing more.
void owe_a_packet(Rig& rig, const Pair& pair) {
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  REQUIRE(next_hops(rig) == std::vector<unsigned>{kOld});
  rig.wait(microseconds(1));
}

/// The next hop of the next resend.
unsigned resent_to(Rig& rig) {
  rig.wan_out.clear();
  for (int i = 0; i < 100 && rig.wan_out.empty(); ++i) rig.wait(milliseconds(50));
  REQUIRE(rig.wan_out.size() == 1);
  CHECK(rig.wan_out[0].good_icrc);
  CHECK(rig.wan_out[0].line() == "write_only 101!");
  return next_hops(rig).front();
}

}  // namespace

TEST_CASE("any frame of its host to the far host shows where resends go", "[engine][next_hop]") {
  Rig rig;
  Pair sibling;
  sibling.a_qpn = 0x13;
  sibling.b_qpn = 0x24;
  sibling.a_comm = 0xa3;
  sibling.b_comm = 0xb3;
  sibling.transaction = 0x79;
  rig.connect(sibling);
  const Pair pair;
  owe_a_packet(rig, pair);
  CHECK(resent_to(rig) == kOld);
  CHECK(rig.count(Counter::resends_to_new_next_hop) == 0);

  Pair unknown;
  unknown.b_qpn = 0x99;
  const std::vector<Bytes> shows = {pair.write(102),     // a request of the flow itself
                                    sibling.write(100),  // a request of another flow
                                    pair.a_ack(500, 1),  // an answer to the far host
                                    pair.req(),          // RDMA-CM
                                    unknown.write(7)};   // a request of an unknown connection
  const std::size_t which = GENERATE(0u, 1u, 2u, 3u, 4u);
  rig.host_sends(to(shows[which], kNew));
  rig.wan_out.clear();
  CHECK(resent_to(rig) == kNew);
  CHECK(rig.count(Counter::resends_to_new_next_hop) == 1);
  CHECK(rig.count(Counter::next_hops_moved) == 0);
}

TEST_CASE("a frame of other hosts, of another VLAN or damaged, shows nothing", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  owe_a_packet(rig, pair);
  Pair other_host = pair;
  other_host.a_ip = "10.0.0.3";
  Pair tagged = pair;
  tagged.vlan = 7;
  rig.host_sends({to(other_host.write(101), kNew), to(tagged.write(101), kNew), to(damaged(pair.write(102)), kNew)});
  CHECK(resent_to(rig) == kOld);
}

TEST_CASE("a first transmission goes as it came", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.allow(Side::wan, 0);
  rig.host_sends(pair.write(101));
  rig.wait(microseconds(1));
  rig.host_sends(to(pair.write(102), kNew));
  rig.allow(Side::wan, Rig::kUnlimited);
  rig.wait(milliseconds(1));
  CHECK(next_hops(rig) == std::vector<unsigned>{kOld, kNew});
}

TEST_CASE("a resend has the new next hop and AckReq; the packet itself stays as it came", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101), pair.write(102)});
  rig.wait(microseconds(1));
  rig.host_sends(to(pair.a_ack(500, 1), kNew));
  CHECK(resent_to(rig) == kNew);
  rig.wait(microseconds(1));
  rig.host_sends(to(pair.a_ack(500, 1), kOld));  // and back again
  CHECK(resent_to(rig) == kOld);
  // A NAK causes resends of all packets.
  rig.host_sends(to(pair.a_ack(500, 1), kNew));
  rig.wan_out.clear();
  rig.wan_sends(pair.nak(101, 1));
  CHECK(next_hops(rig) == std::vector<unsigned>{kNew, kNew});
}

TEST_CASE("gratuitous ARP for the far host gives an idle host's packets its new address", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  owe_a_packet(rig, pair);
  const auto operation = static_cast<std::uint8_t>(GENERATE(1, 2));
  const Bytes frame = arp({.operation = operation});
  rig.wan_sends(frame);
  REQUIRE(rig.host_out.size() >= 1);
  CHECK(rig.host_out.back().bytes == frame);  // the host gets the frame, too
  CHECK(resent_to(rig) == kNew);
}

TEST_CASE("an unsolicited Neighbour Advertisement does, too", "[engine][next_hop]") {
  Rig rig;
  const Pair pair = over_ipv6();
  owe_a_packet(rig, pair);
  rig.wan_sends(advertisement({}));
  CHECK(resent_to(rig) == kNew);
}

TEST_CASE("so does a Neighbour Advertisement to the host that asked", "[engine][next_hop]") {
  Rig rig;
  const Pair pair = over_ipv6();
  owe_a_packet(rig, pair);
  rig.wan_sends(advertisement({.flags = 0x60, .to_all = false}));
  CHECK(resent_to(rig) == kNew);
}

TEST_CASE("a gateway's new address goes to all who sent to its old one", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  const bool known = GENERATE(true, false);
  // ARP of the gateway, 10.0.0.254, asking for the host.
  if (known) rig.wan_sends(arp({.sender_mac = kOld, .sender_ip = 254, .target_ip = 1}));
  owe_a_packet(rig, pair);
  rig.wan_sends(arp({.sender_ip = 254, .target_ip = 254}));
  // If the old address was never heard, nobody can tell whose packets the new one is for.
  CHECK(resent_to(rig) == (known ? kNew : kOld));
  CHECK(rig.count(Counter::next_hops_moved) == (known ? 1 : 0));
  rig.host_sends(to(pair.a_ack(500, 1), kNew));
  CHECK(resent_to(rig) == kNew);
}

TEST_CASE("a gateway that moves twice, and back", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  rig.wan_sends(arp({.sender_mac = kOld, .sender_ip = 254, .target_ip = 1}));
  owe_a_packet(rig, pair);
  rig.wan_sends(arp({.sender_mac = kNew, .sender_ip = 254, .target_ip = 1}));
  rig.wait(milliseconds(1));
  rig.wan_sends(arp({.sender_mac = 0xdd, .sender_ip = 254, .target_ip = 1}));
  CHECK(resent_to(rig) == 0xdd);
  rig.wan_sends(arp({.sender_mac = kOld, .sender_ip = 254, .target_ip = 1}));
  CHECK(resent_to(rig) == kOld);
}

TEST_CASE("an ARP question says nothing of a far host whose address was not known", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  owe_a_packet(rig, pair);
  rig.wan_sends(arp({.target_ip = 1}));
  CHECK(resent_to(rig) == kOld);
}

TEST_CASE("forged ARP misleads until the host's next frame, of any flow", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  owe_a_packet(rig, pair);
  rig.wan_sends(arp({.sender_mac = 0xee}));
  CHECK(resent_to(rig) == 0xee);
  rig.host_sends(pair.a_ack(500, 1));
  CHECK(resent_to(rig) == kOld);
  // A repeat within a second is no news; a later repeat is.
  rig.wait(seconds(2));
  rig.wan_sends(arp({.sender_mac = 0xee}));
  CHECK(resent_to(rig) == 0xee);
  Pair unknown;
  unknown.b_qpn = 0x99;
  rig.host_sends(unknown.write(7));
  CHECK(resent_to(rig) == kOld);
}

TEST_CASE("what the far host announced before the host's last frame is old, whatever else is heard since",
          "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  owe_a_packet(rig, pair);
  rig.wan_sends(arp({}));
  CHECK(resent_to(rig) == kNew);
  rig.host_sends(pair.a_ack(500, 1));
  CHECK(resent_to(rig) == kOld);
  Pair other;
  other.a_qpn = 0x33;
  other.b_qpn = 0x44;
  other.b_ip = "10.0.0.9";
  rig.connect(other);
  rig.wan_sends(arp({.sender_mac = 0xdd, .sender_ip = 9, .target_ip = 9}));
  rig.wait(seconds(2));
  rig.wan_sends(arp({.sender_mac = 0xee, .sender_ip = 9, .target_ip = 9}));
  CHECK(resent_to(rig) == kOld);
}

TEST_CASE("what is no sound ARP or advertisement from the WAN side changes nothing", "[engine][next_hop]") {
  SECTION("IPv4") {
    Rig rig;
    const Pair pair;
    owe_a_packet(rig, pair);
    const Bytes good = arp({});
    rig.host_sends(good);  // from the host's own side
    for (std::size_t size = 0; size < good.size(); ++size)
      rig.wan_sends(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
    rig.wan_sends(arp({}, 7));  // another VLAN
    for (const std::size_t at : {14, 15, 16, 17, 18, 19, 20, 21}) {
      Bytes bad = good;
      bad[at] ^= 0x10;
      rig.wan_sends(bad);
    }
    Bytes group = good;
    group[22] |= 1;
    rig.wan_sends(group);
    CHECK(resent_to(rig) == kOld);
    rig.wan_sends(good);
    CHECK(resent_to(rig) == kNew);
  }
  SECTION("IPv6") {
    Rig rig;
    const Pair pair = over_ipv6();
    owe_a_packet(rig, pair);
    const Bytes good = advertisement({});
    rig.host_sends(good);
    for (std::size_t size = 0; size < good.size(); ++size)
      rig.wan_sends(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
    rig.wan_sends(advertisement({.hop_limit = 254}));
    rig.wan_sends(advertisement({.flags = 0x60}));  // solicited, and sent to all nodes
    rig.wan_sends(advertisement({.code = 1}));
    rig.wan_sends(advertisement({.option_units = 0}));
    rig.wan_sends(advertisement({.option_units = 2}));
    rig.wan_sends(advertisement({.checksum_error = 1}));
    // Lengths that the message does not have, or that no advertisement has.
    for (const unsigned length : {0U, 8U, 23U, 33U, 0xffffU}) {
      constexpr std::size_t kPayloadLength = 14 + 4;
      Bytes bad = good;
      bad[kPayloadLength] = static_cast<std::uint8_t>(length >> 8);
      bad[kPayloadLength + 1] = static_cast<std::uint8_t>(length);
      rig.wan_sends(bad);
    }
    CHECK(resent_to(rig) == kOld);
    rig.wan_sends(good);
    CHECK(resent_to(rig) == kNew);
    rig.wan_sends(advertisement({.mac = 0xee, .flags = 0}));  // without the override flag
    CHECK(resent_to(rig) == kNew);
  }
}

TEST_CASE("an advertisement that is cut short is none, whatever stands behind it in memory", "[engine][next_hop]") {
  const Bytes good = advertisement({});
  REQUIRE(wire::parse_neighbour(good));
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(wire::parse_neighbour(std::span(good).first(size)));
}

TEST_CASE("a flow that its host sends by another router than its other flows goes there", "[engine][next_hop]") {
  Rig rig;
  Pair sibling;
  sibling.a_qpn = 0x13;
  sibling.b_qpn = 0x24;
  sibling.a_comm = 0xa3;
  sibling.b_comm = 0xb3;
  sibling.transaction = 0x79;
  rig.connect(sibling);
  rig.host_sends(to(sibling.write(100), kNew));
  rig.wait(microseconds(1));
  owe_a_packet(rig, Pair{});
  CHECK(resent_to(rig) == kOld);
}

TEST_CASE("neighbours without number: the tables stay as large as they are", "[engine][next_hop]") {
  Rig rig;
  const Pair pair;
  owe_a_packet(rig, pair);
  for (unsigned round = 0; round < 3; ++round)
    for (unsigned network = 1; network < 20; ++network)
      for (unsigned host = 1; host < 200; ++host) {
        Bytes frame = arp({.sender_mac = static_cast<std::uint8_t>(host + round)});
        frame[30] = frame[40] = static_cast<std::uint8_t>(network);
        frame[31] = frame[41] = static_cast<std::uint8_t>(host);
        rig.wan_sends(frame);
      }
  rig.wan_sends(arp({}));
  CHECK(resent_to(rig) == kNew);
}

TEST_CASE("workers tell each other", "[engine][next_hop]") {
  engine::Shared shared;
  engine::NextHopNews& news = shared.next_hops;
  Rig rig;
  rig.engine->share(shared);
  const Pair pair;
  owe_a_packet(rig, pair);
  std::uint64_t read = news.posted();
  CHECK(read == 1);  // the next hop of the first request

  // News from another worker.
  engine::NextHopNews::Item item;
  item.at = rig.now;
  SECTION("of ARP") {
    item.heard = true;
    item.neighbour.ip = wire::IpAddress::parse(pair.b_ip);
    item.neighbour.mac = {2, 0, 0, 0, 0, kNew};
    item.neighbour.announced = true;
  }
  SECTION("of the same host's frames") {
    item.host = wire::IpAddress::parse(pair.a_ip);
    item.far = wire::IpAddress::parse(pair.b_ip);
    item.addresses = {.destination = {2, 0, 0, 0, 0, kNew}, .source = {2, 0, 0, 0, 0, 0xaa}};
  }
  news.post(item);
  ++read;
  CHECK(resent_to(rig) == kNew);

  // News from this worker.
  rig.host_sends(to(pair.a_ack(500, 1), 0xdd));
  rig.wan_sends(arp({.sender_mac = 0xee}));
  std::vector<unsigned> said;
  news.read_from(read, [&](const engine::NextHopNews::Item& own) {
    CHECK(own.from != nullptr);
    said.push_back(own.heard ? own.neighbour.mac[5] : own.addresses.destination[5]);
  });
  CHECK(said == std::vector<unsigned>{0xdd, 0xee});
}
