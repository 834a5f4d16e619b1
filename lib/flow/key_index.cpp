// SPDX-License-Identifier: BSD-3-Clause
#include "flow/key_index.hpp"

#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lcore.h>

#include <stdexcept>

namespace longhaul::flow {

KeyIndex::KeyIndex(std::uint32_t capacity, const std::string& name, const std::string& what) {
  static_assert(sizeof(Key) == 40, "no padding may enter the hash");
  rte_hash_parameters parameters{};
  parameters.name = name.c_str();
  // Cuckoo buckets of eight: a table of exactly `capacity` refuses keys a little before it is full.
  parameters.entries = capacity + capacity / 4 + 8;
  parameters.key_len = sizeof(Key);
  parameters.hash_func = rte_hash_crc;
  parameters.socket_id = static_cast<int>(rte_socket_id());
  hash_ = rte_hash_create(&parameters);
  if (hash_ == nullptr) throw std::runtime_error(what + ": " + rte_strerror(rte_errno));
}

KeyIndex::~KeyIndex() { rte_hash_free(hash_); }

std::optional<std::uint32_t> KeyIndex::find(const Key& key) const noexcept {
  void* data = nullptr;
  if (rte_hash_lookup_data(hash_, &key, &data) < 0) return std::nullopt;
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data));
}

bool KeyIndex::put(const Key& key, std::uint32_t value) noexcept {
  return rte_hash_add_key_data(hash_, &key, reinterpret_cast<void*>(static_cast<std::uintptr_t>(value))) == 0;
}

void KeyIndex::erase(const Key& key) noexcept { rte_hash_del_key(hash_, &key); }

}  // namespace longhaul::flow
