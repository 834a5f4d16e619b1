// SPDX-License-Identifier: BSD-3-Clause
// Where hosts send what goes to the far side: the Ethernet addresses that each pair of hosts uses now. Custody sends
// packets again long after they came, and the router that they were addressed to may be gone by then. Newer than a
// packet's own addresses are those of any later RoCE frame between the two hosts, and what ARP and Neighbour
// Advertisements from the WAN side have told the host since.
//
// The newest always wins. Forged ARP misleads no more than it would the host itself: the host's next frame, of any flow
// between the two, shows where it really sends. Not known is a gateway's old MAC address when no ARP of it has passed
// here: then nobody can tell whose packets the new one is for, and they wait for the host's next frame.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "flow/key_index.hpp"
#include "wire/neighbour.hpp"

namespace longhaul::engine {

/// Fixed capacity; one worker owns it. Anyone can send ARP, so what is learned from it has bounded tables of its own,
/// where the oldest makes room, and is applied when somebody asks.
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
  /// A connection less; kNone is none.
  void release(PairIndex pair);
  /// kNone when they have no connection.
  PairIndex find(const wire::IpAddress& host, const wire::IpAddress& far, wire::VlanKey vlan) const noexcept;
  bool any() const noexcept { return in_use_ != 0; }

  /// A frame of the pair came from its host at `at`. True when that is news: other addresses than before, or the same
  /// in spite of what was heard.
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

  /// The addresses that a packet to be sent again at this time must have, in place of those that it has. Its own flow
  /// was last sent to `own` at `own_at`.
  void newest(PairIndex pair, const wire::MacAddress& own, Time own_at,
              wire::EthernetAddresses& addresses) const noexcept;

  /// DPDK's memory, and ordinary memory of each of `capacity`.
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
