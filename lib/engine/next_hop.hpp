// SPDX-License-Identifier: BSD-3-Clause
// Where hosts send frames for the far side: the Ethernet addresses that each pair of hosts uses now. Custody sends
// packets again long after they came, and the router that they were addressed to may be gone by then. Newer addresses
// come from any later RoCE frame between the two hosts, and from ARP and Neighbour Advertisements that the WAN side has
// sent to the host since.
//
// The newest always wins. Forged ARP misleads the box no more than the host itself: the host's next frame, of any flow
// between the two, shows where it really sends. A gateway's old MAC address is not known when no ARP of the gateway has
// passed here. Then nobody can tell which packets the new address is for, and they wait for the host's next frame.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "flow/key_index.hpp"
#include "wire/neighbour.hpp"

namespace longhaul::engine {

/// Fixed capacity; one worker owns it. Anyone can send ARP, so what is learned from it has bounded tables of its own,
/// where the oldest entry makes room. It is applied when a caller asks.
class NextHops {
 public:
  using PairIndex = std::uint32_t;
  static constexpr PairIndex kNone = flow::KeyIndex::kNone;

  /// Pairs for up to `capacity` connections. Throws std::runtime_error when the EAL has no memory for them.
  explicit NextHops(std::uint32_t capacity);
  NextHops(const NextHops&) = delete;
  NextHops& operator=(const NextHops&) = delete;

  /// The entry of two hosts, for one more connection; kNone when there is no room.
  PairIndex acquire(const wire::IpAddress& host, const wire::IpAddress& far, wire::VlanKey vlan);
  /// The pair has one connection less; kNone does nothing.
  void release(PairIndex pair);
  /// The entry of two hosts; kNone when they have no connection.
  PairIndex find(const wire::IpAddress& host, const wire::IpAddress& far, wire::VlanKey vlan) const noexcept;
  /// How many connections the pair has; kNone has none.
  std::uint32_t connections(PairIndex pair) const noexcept { return pair == kNone ? 0 : pairs_[pair].connections; }
  bool any() const noexcept { return in_use_ != 0; }

  /// A frame of the pair came from its host at `at`. True when that is news: the addresses are new, or something was
  /// heard since the last frame.
  bool shown(PairIndex pair, const wire::EthernetAddresses& addresses, Time at);
  /// shown() would do no more than note the time.
  bool shows_nothing_new(PairIndex pair, const wire::EthernetAddresses& addresses) const noexcept;

  enum class Heard : std::uint8_t {
    nothing,  ///< new
    told,     ///< an address that was not known, or a reminder
    moved,    ///< another MAC address than before
  };
  /// ARP or a Neighbour Advertisement came from the WAN side at `at`.
  Heard hear(const wire::Neighbour& said, Time at);
  /// When hear() last had something new; what hosts showed before may be out of date.
  Time heard_at() const noexcept { return heard_at_; }

  /// Replaces `addresses`, those of a packet that is sent again now, by the newest ones. The packet's own flow was last
  /// sent to `own` at `own_at`.
  void newest(PairIndex pair, const wire::MacAddress& own, Time own_at,
              wire::EthernetAddresses& addresses) const noexcept;

  /// Bytes of DPDK's memory for `capacity` pairs, and of ordinary memory for each pair.
  static std::uint64_t bytes_needed(std::uint32_t capacity);
  static std::uint64_t bytes_per_pair();

 private:
  struct Pair {
    wire::IpAddress host;
    wire::IpAddress far;
    wire::VlanKey vlan;
    wire::EthernetAddresses addresses;
    Time at = 0;  ///< when they were shown; 0: never
    std::uint32_t connections = 0;
  };
  struct Address {
    flow::KeyIndex::Key key;
    wire::MacAddress mac{};
    wire::MacAddress before{};  ///< what it was until it moved; zero: nothing is known
    Time announced_at = 0;      ///< 0: it never was
    bool in_use = false;
  };
  /// Since `at`, hosts that used the MAC address in `key` send to `to` instead.
  struct Move {
    flow::KeyIndex::Key key;
    wire::MacAddress to{};
    Time at = 0;
    bool in_use = false;
  };
  static constexpr std::uint32_t kAddresses = 1024;
  static constexpr std::uint32_t kMoves = 256;

  void move(wire::VlanKey vlan, const wire::MacAddress& from, const wire::MacAddress& to, Time at);

  flow::KeyIndex by_pair_;
  std::vector<Pair> pairs_;
  std::vector<PairIndex> free_;
  std::uint32_t in_use_ = 0;
  flow::KeyIndex by_address_;
  std::vector<Address> addresses_;
  std::uint32_t oldest_address_ = 0;
  flow::KeyIndex by_old_mac_;
  std::vector<Move> moves_;
  std::uint32_t oldest_move_ = 0;
  Time heard_at_ = 0;
};

}  // namespace longhaul::engine
