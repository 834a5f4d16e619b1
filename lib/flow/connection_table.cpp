// SPDX-License-Identifier: BSD-3-Clause
#include "flow/connection_table.hpp"

#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lcore.h>

#include <algorithm>
#include <stdexcept>

namespace longhaul::flow {

struct ConnectionTable::Key {
  wire::IpAddress source;
  wire::IpAddress destination;
  wire::VlanKey vlan;
  std::uint32_t destination_qpn;
};

ConnectionTable::Key ConnectionTable::key_of(const ConnectionInfo& info, Side from) noexcept {
  const End& near = info.end(from);
  const End& far = info.end(other(from));
  return {near.ip, far.ip, info.vlan, far.qpn};
}

ConnectionTable::ConnectionTable(std::uint32_t capacity, const std::string& name) : slots_(capacity) {
  static_assert(sizeof(Key) == 40, "no padding may enter the hash");
  for (const Side side : {Side::host, Side::wan}) {
    const std::string table_name = name + "_" + std::string(name_of(side));
    rte_hash_parameters parameters{};
    parameters.name = table_name.c_str();
    // Cuckoo buckets of eight: a table of exactly `capacity` refuses keys a little before it is full.
    parameters.entries = capacity + capacity / 4 + 8;
    parameters.key_len = sizeof(Key);
    parameters.hash_func = rte_hash_crc;
    parameters.socket_id = static_cast<int>(rte_socket_id());
    by_side_[static_cast<int>(side)] = rte_hash_create(&parameters);
    if (by_side_[static_cast<int>(side)] == nullptr) {
      const std::string why = rte_strerror(rte_errno);
      rte_hash_free(by_side_[0]);
      throw std::runtime_error("connection table for " + std::to_string(capacity) + " connections: " + why);
    }
  }
  free_.reserve(capacity);
  for (std::uint32_t i = capacity; i-- > 0;) free_.push_back(i);
}

ConnectionTable::~ConnectionTable() {
  for (rte_hash* table : by_side_) rte_hash_free(table);
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
  Slot& slot = slots_[index];
  slot.info = info;
  for (const Side side : {Side::host, Side::wan}) {
    const Key key = key_of(info, side);
    rte_hash* table = by_side_[static_cast<int>(side)];
    if (rte_hash_add_key_data(table, &key, reinterpret_cast<void*>(static_cast<std::uintptr_t>(index))) != 0) {
      unlink(index, Side::host);
      return false;
    }
    slot.linked[static_cast<int>(side)] = true;
  }
  slot.in_use = true;
  return true;
}

std::optional<ConnectionIndex> ConnectionTable::find(Side from, const wire::Frame& frame,
                                                     std::uint32_t destination_qpn) const noexcept {
  return look_up(from, {frame.source, frame.destination, frame.vlan, destination_qpn});
}

std::optional<ConnectionIndex> ConnectionTable::holder(const ConnectionInfo& info, Side from) const noexcept {
  return look_up(from, key_of(info, from));
}

std::optional<ConnectionIndex> ConnectionTable::look_up(Side from, const Key& key) const noexcept {
  void* data = nullptr;
  if (rte_hash_lookup_data(by_side_[static_cast<int>(from)], &key, &data) < 0) return std::nullopt;
  return static_cast<ConnectionIndex>(reinterpret_cast<std::uintptr_t>(data));
}

void ConnectionTable::unlink(ConnectionIndex index, Side from) noexcept {
  Slot& slot = slots_[index];
  if (!slot.linked[static_cast<int>(from)]) return;
  const Key key = key_of(slot.info, from);
  rte_hash_del_key(by_side_[static_cast<int>(from)], &key);
  slot.linked[static_cast<int>(from)] = false;
}

void ConnectionTable::release(ConnectionIndex index) {
  Slot& slot = slots_[index];
  if (!slot.in_use) return;
  unlink(index, Side::host);
  unlink(index, Side::wan);
  slot.in_use = false;
  free_.push_back(index);
}

}  // namespace longhaul::flow
