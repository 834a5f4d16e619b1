// SPDX-License-Identifier: BSD-3-Clause
#include "flow/connection_table.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace longhaul::flow {

namespace {

std::string purpose(std::uint32_t capacity) {
  return "connection table for " + std::to_string(capacity) + " connections";
}

// None for connections whose frames have another shape.
std::optional<LaneIndex::Key> lane_key_of(const ConnectionInfo& info, Side from) {
  const KeyIndex::KeyView key = key_of(info, from);
  if (!key.first.is_ipv4() || !key.second.is_ipv4() || key.vlan.value != 0) return std::nullopt;
  std::uint64_t addresses = 0;
  constexpr std::size_t kIpv4 = 4;
  constexpr std::size_t kAt = sizeof(wire::IpAddress) - kIpv4;
  auto* bytes = reinterpret_cast<std::uint8_t*>(&addresses);
  std::memcpy(bytes, key.first.bytes.data() + kAt, kIpv4);
  std::memcpy(bytes + kIpv4, key.second.bytes.data() + kAt, kIpv4);
  return LaneIndex::Key::of(from, addresses, key.qpn);
}

}  // namespace

ConnectionTable::ConnectionTable(std::uint32_t capacity)
    : by_side_{KeyIndex(capacity, purpose(capacity)), KeyIndex(capacity, purpose(capacity))},
      lane_(capacity),
      slots_(capacity) {
  free_.reserve(capacity);
  for (std::uint32_t i = capacity; i-- > 0;) free_.push_back(i);
}

std::optional<ConnectionIndex> ConnectionTable::insert(const ConnectionInfo& info) {
  if (free_.empty()) return std::nullopt;
  const ConnectionIndex index = free_.back();
  if (!link(index, info)) return std::nullopt;
  free_.pop_back();
  return index;
}

bool ConnectionTable::insert_at(ConnectionIndex index, const ConnectionInfo& info) {
  const auto found = std::find(free_.begin(), free_.end(), index);
  if (found == free_.end() || holder(info, Side::host) || holder(info, Side::wan) || !link(index, info)) return false;
  free_.erase(found);
  return true;
}

bool ConnectionTable::link(ConnectionIndex index, const ConnectionInfo& info) {
  ++changes_;
  Slot& slot = slots_[index];
  slot.info = info;
  for (const Side side : kSides) {
    if (!by_side_[side].put(key_of(info, side), index)) {
      unlink(index, Side::host);
      return false;
    }
    slot.linked[side] = true;
    if (const auto key = lane_key_of(info, side)) lane_.put(*key, index);
  }
  slot.in_use = true;
  return true;
}

std::optional<ConnectionIndex> ConnectionTable::find(Side from, const wire::Frame& frame,
                                                     std::uint32_t destination_qpn) const noexcept {
  return by_side_[from].find(key_of(frame, destination_qpn));
}

std::optional<ConnectionIndex> ConnectionTable::holder(const ConnectionInfo& info, Side from) const noexcept {
  return by_side_[from].find(key_of(info, from));
}

void ConnectionTable::unlink(ConnectionIndex index, Side from) noexcept {
  Slot& slot = slots_[index];
  if (!slot.linked[from]) return;
  by_side_[from].erase(key_of(slot.info, from));
  if (const auto key = lane_key_of(slot.info, from)) lane_.erase(*key);
  slot.linked[from] = false;
}

void ConnectionTable::release(ConnectionIndex index) {
  Slot& slot = slots_[index];
  if (!slot.in_use) return;
  ++changes_;
  unlink(index, Side::host);
  unlink(index, Side::wan);
  slot.in_use = false;
  free_.push_back(index);
}

}  // namespace longhaul::flow
