// SPDX-License-Identifier: BSD-3-Clause
#include "peer/station.hpp"

#include <algorithm>
#include <cstring>

#include "wire/big_endian.hpp"
#include "wire/checksum.hpp"
#include "wire/neighbour.hpp"

namespace longhaul::peer {

using wire::ArpPacket;
using wire::EthernetHeader;
using wire::IpAddress;
using wire::Ipv4Header;
using wire::Ipv6Header;
using wire::MacAddress;
using wire::UdpHeader;

namespace {

constexpr std::uint8_t kIcmp = 1;
constexpr std::size_t kIcmpHeader = 8;
constexpr std::uint8_t kEcho4 = 8;
constexpr std::uint8_t kEchoReply4 = 0;
constexpr std::uint8_t kEcho6 = 128;
constexpr std::uint8_t kEchoReply6 = 129;
constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kFragment = 0x3fff;  ///< more to come, or not the first
constexpr MacAddress kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/// With the sender's link-layer address (of a solicitation) or the target's (of an advertisement).
struct AddressOption {
  std::uint8_t type;
  std::uint8_t units = 1;  ///< of 8 bytes
  MacAddress mac;
};
static_assert(sizeof(AddressOption) == 8);

template <typename Header>
const Header* header_in(Bytes bytes) {
  static_assert(alignof(Header) == 1);
  return bytes.size() < sizeof(Header) ? nullptr : reinterpret_cast<const Header*>(bytes.data());
}

void append(std::vector<std::uint8_t>& to, Bytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

std::array<std::uint8_t, 4> ipv4_of(const IpAddress& address) {
  std::array<std::uint8_t, 4> octets;
  std::copy(address.bytes.end() - 4, address.bytes.end(), octets.begin());
  return octets;
}

/// An IP packet's. The box has no queue pair: in bypass, too, RoCE is somebody else's.
bool is_roce(Bytes packet) {
  std::size_t header = 0;
  if (const auto* ip = header_in<Ipv4Header>(packet); ip != nullptr && ip->version_ihl >> 4 == 4) {
    if (ip->protocol != wire::kIpProtocolUdp) return false;
    header = (ip->version_ihl & 0xfu) * 4u;
  } else if (const auto* ipv6 = header_in<Ipv6Header>(packet); ipv6 != nullptr) {
    if (ipv6->next_header != wire::kIpProtocolUdp) return false;
    header = sizeof(Ipv6Header);
  }
  const auto* udp = packet.size() < header ? nullptr : header_in<UdpHeader>(packet.subspan(header));
  return udp != nullptr && udp->destination_port == wire::kRoceUdpPort;
}

/// Of an ICMP message whose checksum is still to be filled in.
void store_checksum(std::vector<std::uint8_t>& message, std::uint64_t pseudo) {
  constexpr std::size_t kAt = 2;
  message[kAt] = message[kAt + 1] = 0;
  const wire::Be16 checksum = wire::internet_checksum(pseudo + wire::internet_sum(message));
  std::memcpy(message.data() + kAt, &checksum, sizeof(checksum));
}

/// RFC 4291, 2.7.1, and RFC 2464, 7.
IpAddress solicited_node(const IpAddress& address) {
  IpAddress group = IpAddress::parse("ff02::1:ff00:0");
  std::copy(address.bytes.end() - 3, address.bytes.end(), group.bytes.end() - 3);
  return group;
}
MacAddress group_mac(const IpAddress& group) {
  MacAddress mac = {0x33, 0x33, 0, 0, 0, 0};
  std::copy(group.bytes.end() - 4, group.bytes.end(), mac.begin() + 2);
  return mac;
}

}  // namespace

Station::Station(const StationSettings& settings, const MacAddress& mac, StationHost& host)
    : settings_(settings), mac_(mac), host_(host) {
  if (settings.vlan) vlan_.add(*settings.vlan);
  solicited_ = solicited_node(settings.address());
}

// ---- what comes ---------------------------------------------------------------------------------

Station::Addressed Station::addressed(Bytes frame) const {
  const auto* ethernet = header_in<EthernetHeader>(frame);
  if (ethernet == nullptr) return {};
  std::uint16_t ether_type = ethernet->ether_type;
  Bytes packet = frame.subspan(sizeof(EthernetHeader));
  wire::VlanKey vlan;
  if (ether_type == wire::kEtherTypeVlan) {
    const auto* tag = header_in<wire::VlanTag>(packet);
    if (tag == nullptr) return {};
    vlan.add(tag->tci);
    ether_type = tag->ether_type;
    packet = packet.subspan(sizeof(*tag));
  }
  if (vlan != vlan_) return {};
  const bool of_ipv4 = settings_.address().is_ipv4();
  if (of_ipv4 && ether_type == wire::kEtherTypeArp) {
    const auto* arp = header_in<ArpPacket>(packet);
    if (arp != nullptr && arp->is_ipv4_over_ethernet() && has(IpAddress::from_ipv4(arp->target_ip)))
      return {Protocol::arp, ethernet, packet};
  } else if (of_ipv4 && ether_type == wire::kEtherTypeIpv4) {
    const auto* ip = header_in<Ipv4Header>(packet);
    if (ip != nullptr && has(IpAddress::from_ipv4(ip->destination)) && !is_roce(packet))
      return {Protocol::ipv4, ethernet, packet};
  } else if (!of_ipv4 && ether_type == wire::kEtherTypeIpv6) {
    const auto* ip = header_in<Ipv6Header>(packet);
    if (ip == nullptr) return {};
    const IpAddress destination = IpAddress::from_ipv6(ip->destination);
    bool ours = has(destination) && !is_roce(packet);
    if (!ours && destination == solicited_) {
      // Other addresses have the same group: what matters is who is asked for.
      const auto* asks = header_in<wire::NeighbourAdvertisement>(packet.subspan(sizeof(Ipv6Header)));
      ours = asks != nullptr && ip->next_header == wire::kIpProtocolIcmpv6 &&
             asks->type == wire::kNeighbourSolicitation && has(IpAddress::from_ipv6(asks->target));
    }
    if (ours) return {Protocol::ipv6, ethernet, packet};
  }
  return {};
}

void Station::take(Bytes frame, Time now) {
  const Addressed its = addressed(frame);
  switch (its.protocol) {
    case Protocol::none:
      return;
    case Protocol::arp:
      return take_arp(its.packet, now);
    case Protocol::ipv4:
      return take_ipv4(*its.ethernet, its.packet, now);
    case Protocol::ipv6:
      return take_ipv6(*its.ethernet, its.packet, now);
  }
}

void Station::take_arp(Bytes packet, Time now) {
  const auto& arp = *header_in<ArpPacket>(packet);
  if (!wire::is_unicast(arp.sender_mac) || arp.sender_mac == mac_) return;
  const IpAddress sender = IpAddress::from_ipv4(arp.sender_ip);
  if (has(sender)) {
    ++conflicts_;
    return;
  }
  heard(sender, arp.sender_mac, now);
  if (arp.operation == wire::kArpRequest && neighbour_answers_.take(now))
    send_arp(wire::kArpReply, arp.sender_mac, sender);
}

void Station::take_ipv4(const EthernetHeader& ethernet, Bytes packet, Time now) {
  const auto& ip = *header_in<Ipv4Header>(packet);
  const std::size_t header = (ip.version_ihl & 0xfu) * 4u;
  const std::size_t total = ip.total_length;
  const bool whole = ip.version_ihl >> 4 == 4 && header >= sizeof(Ipv4Header) && total >= header &&
                     total <= packet.size() && (ip.flags_fragment & kFragment) == 0;
  if (!whole) return refuse();
  const IpAddress source = IpAddress::from_ipv4(ip.source);
  const Bytes payload = packet.subspan(header, total - header);
  if (ip.protocol == wire::kIpProtocolUdp) return take_udp(source, payload, now);
  const bool asks = ip.protocol == kIcmp && payload.size() >= kIcmpHeader && payload[0] == kEcho4;
  if (!asks || !may_ask(ethernet, source)) return refuse();
  if (!echo_answers_.take(now)) return;
  if (wire::internet_checksum(wire::internet_sum(packet.first(header))) != 0 ||
      wire::internet_checksum(wire::internet_sum(payload)) != 0)
    return refuse();
  std::vector<std::uint8_t> reply(payload.begin(), payload.end());
  reply[0] = kEchoReply4;
  store_checksum(reply, 0);
  std::vector<std::uint8_t> answer = frame_to(ethernet.source, wire::kEtherTypeIpv4);
  append_ip(answer, source, kIcmp, reply.size(), kHopLimit);
  append(answer, reply);
  host_.transmit(answer);
}

void Station::take_ipv6(const EthernetHeader& ethernet, Bytes packet, Time now) {
  const auto& ip = *header_in<Ipv6Header>(packet);
  const std::size_t size = ip.payload_length;
  if (size + sizeof(Ipv6Header) > packet.size() || ip.version_class_flow >> 28 != 6) return refuse();
  const Bytes payload = packet.subspan(sizeof(Ipv6Header), size);
  const IpAddress source = IpAddress::from_ipv6(ip.source);
  // ::ffff:a.b.c.d stands for IPv4 here, in the tags too.
  if (source.is_ipv4()) return refuse();
  if (ip.next_header == wire::kIpProtocolUdp) return take_udp(source, payload, now);
  if (ip.next_header != wire::kIpProtocolIcmpv6 || size < kIcmpHeader) return refuse();
  if (payload[0] == kEcho6) {
    if (!may_ask(ethernet, source)) return refuse();
    if (!echo_answers_.take(now)) return;
  }
  const std::uint64_t pseudo =
      wire::pseudo_header_sum(source, IpAddress::from_ipv6(ip.destination), wire::kIpProtocolIcmpv6, size);
  if (wire::internet_checksum(pseudo + wire::internet_sum(payload)) != 0) return refuse();
  take_icmpv6(ethernet, packet, payload, now);
}

void Station::take_icmpv6(const EthernetHeader& ethernet, Bytes packet, Bytes message, Time now) {
  const auto& ip = *header_in<Ipv6Header>(packet);
  const IpAddress source = IpAddress::from_ipv6(ip.source);
  const auto* asks = header_in<wire::NeighbourAdvertisement>(message);
  if (message[0] == wire::kNeighbourSolicitation && asks != nullptr && asks->code == 0 &&
      ip.hop_limit == wire::kOnLinkHopLimit && has(IpAddress::from_ipv6(asks->target))) {
    answer_solicitation(ethernet, source, now);
  } else if (message[0] == wire::kNeighbourAdvertisement) {
    // Looks at all that RFC 4861, 7.1.2 wants.
    std::vector<std::uint8_t> untagged;
    append(untagged, bytes_of(EthernetHeader{ethernet.destination, ethernet.source, wire::kEtherTypeIpv6}));
    append(untagged, packet);
    const auto said = wire::parse_neighbour(untagged);
    if (!said || said->mac == mac_) return;
    if (has(said->ip))
      ++conflicts_;
    else
      heard(said->ip, said->mac, now);
  } else if (message[0] == kEcho6) {
    std::vector<std::uint8_t> reply(message.begin(), message.end());
    reply[0] = kEchoReply6;
    send_icmpv6(ethernet.source, source, std::move(reply), kHopLimit);
  } else {
    refuse();
  }
}

void Station::answer_solicitation(const EthernetHeader& ethernet, const IpAddress& asker, Time now) {
  if (!wire::is_unicast(ethernet.source) || ethernet.source == mac_) return;
  // Who has no address yet asks whether this one is free: all are told (RFC 4861, 7.2.4).
  const bool detects = asker == IpAddress{};
  if (!detects && !may_ask(ethernet, asker)) return;
  const IpAddress to = detects ? IpAddress::parse("ff02::1") : asker;
  if (detects)
    ++conflicts_;
  else
    heard(asker, ethernet.source, now);
  if (!neighbour_answers_.take(now)) return;
  const wire::NeighbourAdvertisement says{
      wire::kNeighbourAdvertisement, 0, 0,
      detects ? wire::kNeighbourOverride : wire::kNeighbourSolicited | wire::kNeighbourOverride,
      settings_.address().bytes};
  std::vector<std::uint8_t> answer;
  append(answer, bytes_of(says));
  append(answer, bytes_of(AddressOption{wire::kTargetLinkLayerAddress, 1, mac_}));
  send_icmpv6(detects ? group_mac(to) : ethernet.source, to, std::move(answer), wire::kOnLinkHopLimit);
}

// The checksums of IP and UDP are not looked at: a tag covers addresses and payload, and says more.
void Station::take_udp(const IpAddress& source, Bytes packet, Time now) {
  const auto* udp = header_in<UdpHeader>(packet);
  if (udp == nullptr || udp->length < sizeof(UdpHeader) || udp->length > packet.size() ||
      udp->destination_port != settings_.port || udp->source_port != settings_.port)
    return refuse();
  host_.datagram(source, packet.subspan(sizeof(UdpHeader), udp->length - sizeof(UdpHeader)), now);
}

bool Station::may_ask(const EthernetHeader& ethernet, const IpAddress& asker) const {
  return wire::is_unicast(ethernet.source) && ethernet.source != mac_ && asker.is_a_machines() && !has(asker);
}

// ---- next hops ----------------------------------------------------------------------------------

const IpAddress& Station::next_hop_to(const IpAddress& to) const {
  return settings_.gateway && !settings_.network.contains(to) ? *settings_.gateway : to;
}

Station::NextHop& Station::next_hop(const IpAddress& ip) {
  const auto found = std::ranges::find(next_hops_, ip, &NextHop::ip);
  if (found != next_hops_.end()) return *found;
  if (next_hops_.size() == kMostNextHops) next_hops_.erase(next_hops_.begin());
  return next_hops_.emplace_back(NextHop{ip});
}

// Only of next hops that were asked for: nobody else's word is wanted.
void Station::heard(const IpAddress& ip, const MacAddress& mac, Time now) {
  const auto found = std::ranges::find(next_hops_, ip, &NextHop::ip);
  if (found == next_hops_.end() || !wire::is_unicast(mac)) return;
  found->mac = mac;
  found->heard_at = now;
}

bool Station::is_resolved(const IpAddress& to, Time now) const {
  const auto found = std::ranges::find(next_hops_, next_hop_to(to), &NextHop::ip);
  return found != next_hops_.end() && found->heard_at != 0 && now - found->heard_at < kUsable;
}

void Station::ask_again(const IpAddress& to, Time now) { ask(next_hop(next_hop_to(to)), now); }

void Station::ask(NextHop& hop, Time now) {
  if (hop.asked_at != 0 && now - hop.asked_at < kAskAgain) return;
  hop.asked_at = now;
  if (hop.ip.is_ipv4()) return send_arp(wire::kArpRequest, kBroadcast, hop.ip);
  const IpAddress group = solicited_node(hop.ip);
  std::vector<std::uint8_t> question;
  append(question, bytes_of(wire::NeighbourAdvertisement{wire::kNeighbourSolicitation, 0, 0, 0, hop.ip.bytes}));
  append(question, bytes_of(AddressOption{wire::kSourceLinkLayerAddress, 1, mac_}));
  send_icmpv6(group_mac(group), group, std::move(question), wire::kOnLinkHopLimit);
}

// ---- what goes ----------------------------------------------------------------------------------

std::vector<std::uint8_t> Station::frame_to(const MacAddress& to, std::uint16_t ether_type) const {
  std::vector<std::uint8_t> frame;
  const std::uint16_t first = settings_.vlan ? wire::kEtherTypeVlan : ether_type;
  append(frame, bytes_of(EthernetHeader{to, mac_, first}));
  if (settings_.vlan) append(frame, bytes_of(wire::VlanTag{*settings_.vlan, ether_type}));
  return frame;
}

void Station::append_ip(std::vector<std::uint8_t>& frame, const IpAddress& to, std::uint8_t protocol,
                        std::size_t payload, std::uint8_t hop_limit) const {
  const auto tos = static_cast<std::uint8_t>(settings_.dscp << 2);
  if (to.is_ipv4()) {
    Ipv4Header ip{};
    ip.version_ihl = 0x45;
    ip.tos = tos;
    ip.total_length = static_cast<std::uint16_t>(sizeof(ip) + payload);
    ip.flags_fragment = kDontFragment;
    ip.ttl = hop_limit;
    ip.protocol = protocol;
    ip.source = ipv4_of(settings_.address());
    ip.destination = ipv4_of(to);
    ip.checksum = wire::internet_checksum(wire::internet_sum(bytes_of(ip)));
    append(frame, bytes_of(ip));
  } else {
    Ipv6Header ip{};
    ip.version_class_flow = 6u << 28 | std::uint32_t{tos} << 20;
    ip.payload_length = static_cast<std::uint16_t>(payload);
    ip.next_header = protocol;
    ip.hop_limit = hop_limit;
    ip.source = settings_.address().bytes;
    ip.destination = to.bytes;
    append(frame, bytes_of(ip));
  }
}

void Station::send_arp(std::uint16_t operation, const MacAddress& to, const IpAddress& target) {
  ArpPacket arp{};
  arp.hardware_type = wire::kArpEthernet;
  arp.protocol_type = wire::kEtherTypeIpv4;
  arp.hardware_size = static_cast<std::uint8_t>(mac_.size());
  arp.protocol_size = static_cast<std::uint8_t>(arp.sender_ip.size());
  arp.operation = operation;
  arp.sender_mac = mac_;
  arp.sender_ip = ipv4_of(settings_.address());
  arp.target_mac = operation == wire::kArpReply ? to : MacAddress{};
  arp.target_ip = ipv4_of(target);
  std::vector<std::uint8_t> frame = frame_to(to, wire::kEtherTypeArp);
  append(frame, bytes_of(arp));
  host_.transmit(frame);
}

void Station::send_icmpv6(const MacAddress& mac, const IpAddress& to, std::vector<std::uint8_t> message,
                          std::uint8_t hop_limit) {
  store_checksum(message, wire::pseudo_header_sum(settings_.address(), to, wire::kIpProtocolIcmpv6, message.size()));
  std::vector<std::uint8_t> frame = frame_to(mac, wire::kEtherTypeIpv6);
  append_ip(frame, to, wire::kIpProtocolIcmpv6, message.size(), hop_limit);
  append(frame, message);
  host_.transmit(frame);
}

void Station::send(const IpAddress& to, Bytes payload, Time now) {
  NextHop& hop = next_hop(next_hop_to(to));
  if (hop.heard_at == 0 || now - hop.heard_at >= kFresh) ask(hop, now);
  if (hop.heard_at == 0 || now - hop.heard_at >= kUsable) return;
  UdpHeader udp;
  udp.source_port = udp.destination_port = settings_.port;
  udp.length = static_cast<std::uint16_t>(sizeof(udp) + payload.size());
  udp.checksum = 0;
  const std::uint16_t checksum = wire::internet_checksum(
      wire::pseudo_header_sum(settings_.address(), to, wire::kIpProtocolUdp, sizeof(udp) + payload.size()) +
      wire::internet_sum(bytes_of(udp)) + wire::internet_sum(payload));
  udp.checksum = checksum == 0 ? 0xffff : checksum;
  std::vector<std::uint8_t> frame = frame_to(hop.mac, to.is_ipv4() ? wire::kEtherTypeIpv4 : wire::kEtherTypeIpv6);
  append_ip(frame, to, wire::kIpProtocolUdp, sizeof(udp) + payload.size(), kHopLimit);
  append(frame, bytes_of(udp));
  append(frame, payload);
  host_.transmit(frame);
}

}  // namespace longhaul::peer
