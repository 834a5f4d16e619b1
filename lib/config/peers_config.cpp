// SPDX-License-Identifier: BSD-3-Clause
#include "config/peers_config.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include <fmt/format.h>

#include "peer/key_file.hpp"
#include "wire/prefix.hpp"

namespace longhaul::config {
namespace {

wire::IpAddress address_in(const Value& value, const wire::IpAddress* like = nullptr) {
  wire::IpAddress address;
  try {
    address = wire::IpAddress::parse(value.text());
  } catch (const std::invalid_argument&) {
    value.fail_expected("an IP address such as 198.51.100.1 or 2001:db8::1");
  }
  if (like != nullptr && like->is_ipv4() != address.is_ipv4())
    value.fail_expected(like->is_ipv4() ? "an IPv4 address, as peers.address is one"
                                        : "an IPv6 address, as peers.address is one");
  return address;
}

/// The bits of the address behind the prefix are all of this kind.
bool host_bits_are(bool ones, const wire::IpAddress& address, const wire::Prefix& prefix) {
  for (std::size_t bit = prefix.length; bit < 8 * address.bytes.size(); ++bit)
    if (((address.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) != ones) return false;
  return true;
}

/// Of one machine on this network or beyond it: not the network's own address (of IPv6: RFC 4291, 2.6.1), nor IPv4's
/// for all of it.
bool is_a_hosts(const wire::IpAddress& address, const wire::Prefix& network) {
  constexpr std::uint8_t kLongest = 127;
  if (!address.is_a_machines()) return false;
  // ::1 and the like have 64 zeros in front.
  const auto is_set = [](std::uint8_t byte) { return byte != 0; };
  if (!address.is_ipv4() && std::none_of(address.bytes.begin(), address.bytes.begin() + 8, is_set)) return false;
  if (network.length >= kLongest || !network.contains(address)) return true;  // RFC 3021, RFC 6164
  return !host_bits_are(false, address, network) && !(address.is_ipv4() && host_bits_are(true, address, network));
}

bool is_link_local(const wire::IpAddress& address) {
  return address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;  // RFC 4291, 2.5.6
}

void read_station(const Map& map, peer::StationSettings& out) {
  const Value address = map.at("address");
  wire::Prefix& network = out.network;
  try {
    if (address.text().find('/') == std::string::npos) throw std::invalid_argument("no prefix length");
    network = wire::Prefix::parse(address.text());
  } catch (const std::invalid_argument&) {
    address.fail_expected("the box's address with the length of its network's prefix, such as 192.0.2.1/24");
  }
  constexpr std::uint8_t kWholeAddress = 128;
  if (network.family_length() == 0 || network.length == kWholeAddress)
    address.fail_expected(
        "the length of its network's prefix behind the address: a network with more machines than one");
  if (!is_a_hosts(network.address, network)) address.fail_expected("an address that one machine can have");
  if (const auto v = map.find("gateway")) {
    out.gateway = address_in(*v, &network.address);
    if (!network.contains(*out.gateway) && !is_link_local(*out.gateway))
      v->fail(fmt::format("{} is not in the network of peers.address, {}: the box cannot reach it", v->text(),
                          address.text()));
    if (*out.gateway == network.address) v->fail("this is the box's own address");
    if (!is_a_hosts(*out.gateway, network)) v->fail_expected("an address that one machine can have");
  }
  if (const auto v = map.find("vlan")) out.vlan = static_cast<std::uint16_t>(v->integer(1, 4094));
  if (const auto v = map.find("port")) out.port = static_cast<std::uint16_t>(v->integer(1, 65535));
  if (const auto v = map.find("port"); v && out.port == wire::kRoceUdpPort)
    v->fail("this is the port of RoCEv2: the box would take its peer's datagrams for RDMA");
  if (const auto v = map.find("dscp")) out.dscp = static_cast<std::uint8_t>(v->integer(0, 63));
}

}  // namespace

PeersConfig read_peers(const Value& value) {
  const Map map = value.map({"address", "gateway", "vlan", "port", "dscp", "repair", "boxes"});
  PeersConfig out;
  peer::StationSettings& station = out.settings.station;
  read_station(map, station);
  const wire::Prefix& network = station.network;
  if (const auto v = map.find("repair")) out.settings.repair = v->boolean();
  const Value boxes = map.at("boxes");
  const std::vector<Value> listed = boxes.list();
  if (listed.empty() || listed.size() > kMostPeers)
    boxes.fail(fmt::format("expected 1 to {} boxes, got {}", kMostPeers,
                           listed.empty() ? "none" : std::to_string(listed.size())));
  for (const Value& box : listed) {
    const Map fields = box.map({"name", "address", "key_file"});
    peer::PeerSettings peer;
    const Value name = fields.at("name");
    const Value address = fields.at("address");
    const Value file = fields.at("key_file");
    peer.name = name.text();
    peer.address = address_in(address, &network.address);
    if (peer.address == network.address) address.fail("this is the box's own address");
    if (!is_a_hosts(peer.address, network)) address.fail_expected("an address that one machine can have");
    if (std::ranges::any_of(peer.name, [](unsigned char c) { return std::iscntrl(c) != 0; }))
      name.fail_expected("a name of letters and the like");
    if (!network.contains(peer.address) && !station.gateway)
      address.fail(
          fmt::format("{} is not in the network of peers.address: the way there needs peers.gateway", address.text()));
    for (const peer::PeerSettings& other : out.settings.peers) {
      if (other.name == peer.name) name.fail(fmt::format("two peers are called {}", peer.name));
      if (other.address == peer.address) address.fail(fmt::format("{} has this address, too", other.name));
    }
    if (file.text().front() != '/') file.fail_expected("an absolute path such as /etc/longhaul/far.key");
    try {
      peer.keys = peer::read_keys(file.text());
    } catch (const std::runtime_error& error) {
      file.fail(error.what());
    }
    out.settings.peers.push_back(std::move(peer));
    out.key_files.push_back(file.text());
  }
  return out;
}

}  // namespace longhaul::config
