// SPDX-License-Identifier: BSD-3-Clause
// The box's own address on its WAN port: what is addressed to it, and how its own packets find their next hop.
// docs/peer-protocol.md, section 2. ARP: RFC 826, 5227; Neighbour Discovery: RFC 4861; ICMP echo: RFC 792, 4443.
//
// A next hop is asked for when a packet wants to go and its MAC address is not known, or is older than 30 s: 1 s apart,
// and an old address is used on until 90 s have passed without an answer. Packets do not wait for the answer: those
// who send here repeat what is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.hpp"
#include "peer/allowance.hpp"
#include "peer/keys.hpp"
#include "wire/frame.hpp"
#include "wire/headers.hpp"
#include "wire/prefix.hpp"

namespace longhaul::peer {

struct StationSettings {
  wire::Prefix network;                    ///< the box's own address, and what of it is the same on the whole segment
  std::optional<wire::IpAddress> gateway;  ///< for what is outside the prefix
  std::optional<std::uint16_t> vlan;       ///< VID of the tag that its frames have
  std::uint16_t port = 47910;              ///< UDP
  std::uint8_t dscp = 48;

  const wire::IpAddress& address() const { return network.address; }
};

/// Where the station's frames go, and the datagrams that come for it.
class StationHost {
 public:
  virtual ~StationHost() = default;
  virtual void transmit(Bytes frame) = 0;
  /// From and to the station's port. Source and length are checked, nothing else.
  virtual void datagram(const wire::IpAddress& source, Bytes payload, Time now) = 0;
};

class Station {
 public:
  /// `mac`: the WAN port's. `host` must outlive it.
  Station(const StationSettings& settings, const wire::MacAddress& mac, StationHost& host);

  /// Whether a frame from the WAN, which is not RoCE, is for the box itself. Any thread may ask.
  bool is_for_us(Bytes frame) const { return addressed(frame).protocol != Protocol::none; }
  /// Handles one for which is_for_us().
  void take(Bytes frame, Time now);
  /// Asks for the next hop to there, at most once a second: it may have another MAC address now.
  void ask_again(const wire::IpAddress& to, Time now);
  /// Sends a UDP datagram, or drops it and asks for the next hop.
  void send(const wire::IpAddress& to, Bytes payload, Time now);
  /// The MAC address of the next hop to there is known.
  bool is_resolved(const wire::IpAddress& to, Time now) const;

  /// Frames in which another says that it has the box's address.
  std::uint64_t conflicts() const { return conflicts_; }
  /// Frames for the box's address that are nothing it knows.
  std::uint64_t not_understood() const { return not_understood_; }

 private:
  static constexpr Duration kFresh = seconds(30);
  static constexpr Duration kUsable = seconds(90);
  static constexpr Duration kAskAgain = seconds(1);
  static constexpr std::size_t kMostNextHops = 64;
  static constexpr unsigned kMostAnswers = 100;  ///< a second, to questions of each kind

  struct NextHop {
    wire::IpAddress ip;
    wire::MacAddress mac{};
    Time heard_at = 0;  ///< 0: never
    Time asked_at = 0;  ///< 0: never
  };

  /// What of a frame is for the box.
  enum class Protocol : std::uint8_t { none, arp, ipv4, ipv6 };
  struct Addressed {
    Protocol protocol = Protocol::none;
    const wire::EthernetHeader* ethernet = nullptr;
    Bytes packet{};  ///< behind the Ethernet header: at least the protocol's header
  };
  Addressed addressed(Bytes frame) const;
  bool has(const wire::IpAddress& address) const { return address == settings_.address(); }
  const wire::IpAddress& next_hop_to(const wire::IpAddress& to) const;
  NextHop& next_hop(const wire::IpAddress& ip);
  void ask(NextHop& hop, Time now);
  void heard(const wire::IpAddress& ip, const wire::MacAddress& mac, Time now);

  void take_arp(Bytes packet, Time now);
  void take_ipv4(const wire::EthernetHeader& ethernet, Bytes packet, Time now);
  void take_ipv6(const wire::EthernetHeader& ethernet, Bytes packet, Time now);
  void take_icmpv6(const wire::EthernetHeader& ethernet, Bytes packet, Bytes message, Time now);
  void answer_solicitation(const wire::EthernetHeader& ethernet, const wire::IpAddress& asker, Time now);
  void take_udp(const wire::IpAddress& source, Bytes packet, Time now);
  bool may_ask(const wire::EthernetHeader& ethernet, const wire::IpAddress& asker) const;
  void refuse() { ++not_understood_; }

  std::vector<std::uint8_t> frame_to(const wire::MacAddress& to, std::uint16_t ether_type) const;
  void append_ip(std::vector<std::uint8_t>& frame, const wire::IpAddress& to, std::uint8_t protocol,
                 std::size_t payload, std::uint8_t hop_limit) const;
  void send_arp(std::uint16_t operation, const wire::MacAddress& to, const wire::IpAddress& target);
  void send_icmpv6(const wire::MacAddress& mac, const wire::IpAddress& to, std::vector<std::uint8_t> message,
                   std::uint8_t hop_limit);

  StationSettings settings_;
  wire::MacAddress mac_;
  StationHost& host_;
  wire::VlanKey vlan_;
  wire::IpAddress solicited_;  ///< the group of the address's solicitations
  std::vector<NextHop> next_hops_;
  std::uint64_t not_understood_ = 0;
  std::uint64_t conflicts_ = 0;
  // Who asks for more of one kind gets no less of the other.
  Allowance neighbour_answers_{kMostAnswers};  ///< ARP and Neighbour Discovery
  Allowance echo_answers_{kMostAnswers};
};

}  // namespace longhaul::peer
