// SPDX-License-Identifier: BSD-3-Clause
// Frames for the box's own address, from who has no key (docs/peer-protocol.md, section 8).
#include "test/bench/attacks/own_frames.hpp"

#include <array>
#include <utility>

#include "peer/datagram.hpp"
#include "wire/headers.hpp"

namespace longhaul::bench {

namespace {

using test::Bytes;

constexpr std::array<std::uint8_t, 4> kBox = {192, 0, 2, 1};
constexpr std::array<std::uint8_t, 4> kPeer = {192, 0, 2, 2};
constexpr std::array<std::uint8_t, 4> kStranger = {192, 0, 2, 66};
constexpr wire::MacAddress kMac = {2, 0, 0, 0, 0, 1};
constexpr std::uint32_t kMoreThanAllowed = 600;  // of handshakes, and of answers to questions, a second

peer::PreSharedKey key() {
  peer::Key secret;
  secret.fill(1);
  return peer::PreSharedKey(secret);
}

wire::IpAddress address(const std::array<std::uint8_t, 4>& octets) { return wire::IpAddress::from_ipv4(octets); }

void append(Bytes& to, peer::Bytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

Bytes packet_from(const std::array<std::uint8_t, 4>& source, std::uint8_t protocol, peer::Bytes payload) {
  Bytes frame;
  append(frame, peer::bytes_of(wire::EthernetHeader{kMac, {2, 0, 0, 0, 0, 2}, wire::kEtherTypeIpv4}));
  wire::Ipv4Header ip{};
  ip.version_ihl = 0x45;
  ip.total_length = static_cast<std::uint16_t>(sizeof(ip) + payload.size());
  ip.ttl = 64;
  ip.protocol = protocol;
  ip.source = source;
  ip.destination = kBox;
  append(frame, peer::bytes_of(ip));
  append(frame, payload);
  return frame;
}

AttackFrame datagram_from(const std::array<std::uint8_t, 4>& source, peer::Bytes datagram) {
  constexpr std::uint16_t kPort = 47910;
  Bytes payload;
  append(payload, peer::bytes_of(wire::UdpHeader{
                      kPort, kPort, static_cast<std::uint16_t>(sizeof(wire::UdpHeader) + datagram.size()), 0}));
  append(payload, datagram);
  return {Side::wan, packet_from(source, wire::kIpProtocolUdp, payload)};
}

Bytes keepalive(std::uint32_t number) {
  Bytes datagram = peer::datagram_of({1, static_cast<std::uint8_t>(peer::Type::keepalive), 0, number + 1, number},
                                     peer::bytes_of(peer::Keepalive{1, 1, 1}));
  datagram.resize(datagram.size() + sizeof(peer::Tag));
  return datagram;
}

// Recorded before: its tag is right.
AttackFrame init_again(std::uint32_t, std::uint32_t) {
  peer::Init init{};
  init.lowest_version = init.highest_version = 1;
  init.workers = 1;
  Bytes datagram = peer::datagram_of(
      {peer::kHandshakeVersion, static_cast<std::uint8_t>(peer::Type::init), 0, 0, key().id()}, peer::bytes_of(init));
  peer::seal(datagram, key().hello(), {address(kPeer), address(kBox)});
  return datagram_from(kPeer, datagram);
}

void flood_with_inits(Target& target, std::uint32_t) {
  for (std::uint32_t i = 0; i < kMoreThanAllowed; ++i) {
    const AttackFrame frame = init_again(i, 0);
    target.send(frame.from, frame.bytes);
  }
}

AttackFrame wrong_cookie(std::uint32_t number, std::uint32_t) { return datagram_from(kPeer, keepalive(number)); }
AttackFrame from_stranger(std::uint32_t number, std::uint32_t) { return datagram_from(kStranger, keepalive(number)); }

AttackFrame question(std::uint32_t, std::uint32_t) {
  wire::ArpPacket arp{};
  arp.hardware_type = wire::kArpEthernet;
  arp.protocol_type = wire::kEtherTypeIpv4;
  arp.hardware_size = 6;
  arp.protocol_size = 4;
  arp.operation = wire::kArpRequest;
  arp.sender_mac = {2, 0, 0, 0, 0, 2};
  arp.sender_ip = kStranger;
  arp.target_ip = kBox;
  Bytes frame;
  append(frame, peer::bytes_of(wire::EthernetHeader{kMac, arp.sender_mac, wire::kEtherTypeArp}));
  append(frame, peer::bytes_of(arp));
  return {Side::wan, std::move(frame)};
}

void ask_often(Target& target, std::uint32_t) {
  for (std::uint32_t i = 0; i < kMoreThanAllowed; ++i) {
    const AttackFrame frame = question(i, 0);
    target.send(frame.from, frame.bytes);
  }
}

AttackFrame nonsense(std::uint32_t, std::uint32_t) {
  constexpr std::uint8_t kOspf = 89;
  const Bytes payload(64, 1);
  return {Side::wan, packet_from(kStranger, kOspf, payload)};
}

void nothing_held(Target&, std::uint32_t) {}

std::string_view own_missed(const Counters& counters, std::uint32_t, std::uint32_t frames) {
  return counters[Counter::own_frames] < frames ? "the frames were not the box's own" : "";
}

constexpr Attack kOnOwnAddress[] = {
    {"own_wrong_cookie", "a flood in the name of the peer", nothing_held, wrong_cookie, own_missed},
    {"own_stranger", "a flood from anybody", nothing_held, from_stranger, own_missed},
    {"own_init_again", "a recorded INIT, more often than its tag is verified", flood_with_inits, init_again,
     own_missed},
    {"own_question", "ARP, more often than it is answered", ask_often, question, own_missed},
    {"own_nonsense", "what the box does not know", nothing_held, nonsense, own_missed},
};

}  // namespace

std::span<const Attack> attacks_on_own_address() { return kOnOwnAddress; }

box::PeerSettings attacked_peers() {
  box::PeerSettings settings;
  settings.peers.station.network = wire::Prefix::parse("192.0.2.1/24");
  settings.peers.peers.push_back({"far", address(kPeer), {key()}});
  settings.mac = kMac;
  return settings;
}

}  // namespace longhaul::bench
