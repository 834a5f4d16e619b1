// SPDX-License-Identifier: BSD-3-Clause
#include "engine/next_hop.hpp"

#include <algorithm>

namespace longhaul::engine {

using flow::KeyIndex;

namespace {

// An announcement repeated within this time says nothing new.
constexpr Duration kRepeat = seconds(1);

// A MAC address may move more than once while a packet waits.
constexpr unsigned kMovesFollowed = 8;

// Keys without a second address, and without a QPN.
const wire::IpAddress kNoAddress{};

KeyIndex::Key key_of(wire::VlanKey vlan, const wire::IpAddress& ip) { return {ip, kNoAddress, vlan, 0}; }

KeyIndex::Key key_of(wire::VlanKey vlan, const wire::MacAddress& mac) {
  wire::IpAddress in_its_place;
  std::ranges::copy(mac, in_its_place.bytes.begin());
  return {in_its_place, kNoAddress, vlan, 0};
}

// A place for `key` in `slots`; the oldest entry makes room when there is no other. Null when the index refuses the
// key.
template <typename Slot>
Slot* place_for(const KeyIndex::Key& key, KeyIndex& index, std::vector<Slot>& slots, std::uint32_t& oldest) {
  Slot& slot = slots[oldest];
  if (slot.in_use) index.erase(slot.key);
  slot = Slot{};
  if (!index.put(key, oldest)) return nullptr;
  oldest = (oldest + 1) % static_cast<std::uint32_t>(slots.size());
  slot.key = key;
  slot.in_use = true;
  return &slot;
}

}  // namespace

NextHops::NextHops(std::uint32_t capacity)
    : by_pair_(capacity, "pairs of hosts"),
      pairs_(capacity),
      by_address_(kAddresses, "neighbours"),
      addresses_(kAddresses),
      by_old_mac_(kMoves, "neighbours that moved"),
      moves_(kMoves) {
  free_.reserve(capacity);
  for (PairIndex pair = capacity; pair > 0; --pair) free_.push_back(pair - 1);
}

std::uint64_t NextHops::bytes_needed(std::uint32_t capacity) {
  return KeyIndex::bytes_needed(capacity) + KeyIndex::bytes_needed(kAddresses) + KeyIndex::bytes_needed(kMoves);
}

std::uint64_t NextHops::bytes_per_pair() { return sizeof(Pair) + sizeof(PairIndex); }

// ---- pairs ------------------------------------------------------------------------------------

NextHops::PairIndex NextHops::find(const wire::IpAddress& host, const wire::IpAddress& far,
                                   wire::VlanKey vlan) const noexcept {
  return by_pair_.find({host, far, vlan, 0}).value_or(kNone);
}

NextHops::PairIndex NextHops::acquire(const wire::IpAddress& host, const wire::IpAddress& far, wire::VlanKey vlan) {
  PairIndex pair = find(host, far, vlan);
  if (pair == kNone) {
    if (free_.empty() || !by_pair_.put({host, far, vlan, 0}, free_.back())) return kNone;
    pair = free_.back();
    free_.pop_back();
    ++in_use_;
    Pair fresh;
    fresh.host = host;
    fresh.far = far;
    fresh.vlan = vlan;
    pairs_[pair] = fresh;
  }
  ++pairs_[pair].connections;
  return pair;
}

void NextHops::release(PairIndex index) {
  if (index == kNone) return;
  Pair& pair = pairs_[index];
  if (--pair.connections != 0) return;
  by_pair_.erase({pair.host, pair.far, pair.vlan, 0});
  free_.push_back(index);
  --in_use_;
}

bool NextHops::shows_nothing_new(PairIndex index, const wire::EthernetAddresses& addresses) const noexcept {
  const Pair& pair = pairs_[index];
  return pair.addresses == addresses && pair.at >= heard_at_;
}

bool NextHops::shown(PairIndex index, const wire::EthernetAddresses& addresses, Time at) {
  Pair& pair = pairs_[index];
  const bool news = !shows_nothing_new(index, addresses);
  if (at < pair.at) return false;
  pair.addresses = addresses;
  pair.at = at;
  return news;
}

// ---- what is heard ----------------------------------------------------------------------------

NextHops::Heard NextHops::hear(const wire::Neighbour& said, Time at) {
  const KeyIndex::Key key = key_of(said.vlan, said.ip);
  const auto found = by_address_.find(key);
  if (!found) {
    Address* address = place_for(key, by_address_, addresses_, oldest_address_);
    if (address == nullptr) return Heard::nothing;
    address->mac = said.mac;
    if (!said.announced) return Heard::nothing;
    address->announced_at = at;
    heard_at_ = std::max(heard_at_, at);
    return Heard::told;
  }
  Address& known = addresses_[*found];
  const bool moved = known.mac != said.mac;
  if (moved) {
    if (!said.overrides) return Heard::nothing;
    known.before = known.mac;
    known.mac = said.mac;
  } else if (!said.announced || at < known.announced_at + kRepeat) {
    return Heard::nothing;
  }
  if (said.announced || known.announced_at != 0) known.announced_at = at;
  if (known.before != wire::MacAddress{}) move(said.vlan, known.before, known.mac, at);
  heard_at_ = std::max(heard_at_, at);
  return moved ? Heard::moved : Heard::told;
}

void NextHops::move(wire::VlanKey vlan, const wire::MacAddress& from, const wire::MacAddress& to, Time at) {
  const KeyIndex::Key key = key_of(vlan, from);
  const auto found = by_old_mac_.find(key);
  Move* its = found ? &moves_[*found] : place_for(key, by_old_mac_, moves_, oldest_move_);
  if (its == nullptr) return;
  its->to = to;
  its->at = at;
}

// ---- what is asked ----------------------------------------------------------------------------

void NextHops::newest(PairIndex index, const wire::MacAddress& own, Time own_at,
                      wire::EthernetAddresses& addresses) const noexcept {
  if (index == kNone) {
    addresses.destination = own;
    return;
  }
  const Pair& pair = pairs_[index];
  // Hosts may send each flow to another router: what the flow itself showed last is better than what others showed
  // before.
  Time at = own_at;
  if (pair.at > own_at || pair.addresses.destination == own) {
    addresses = pair.addresses;
    at = std::max(at, pair.at);
  } else {
    addresses.destination = own;
  }
  if (heard_at_ <= at) return;

  // The far host is on the same subnet, or a router there answers for it. The box need not have seen a frame to it.
  if (const auto far = by_address_.find(key_of(pair.vlan, pair.far)); far && addresses_[*far].announced_at > at) {
    addresses.destination = addresses_[*far].mac;
    at = addresses_[*far].announced_at;
  }
  // The gateway moved.
  for (unsigned i = 0; i < kMovesFollowed; ++i) {
    const auto found = by_old_mac_.find(key_of(pair.vlan, addresses.destination));
    if (!found || moves_[*found].at <= at) return;
    addresses.destination = moves_[*found].to;
    at = moves_[*found].at;
  }
}

}  // namespace longhaul::engine
