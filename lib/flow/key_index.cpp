// SPDX-License-Identifier: BSD-3-Clause
#include "flow/key_index.hpp"

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lcore.h>

#include <array>
#include <bit>
#include <stdexcept>

namespace longhaul::flow {

namespace {

// CRC-32C as rte_hash_crc_8byte() has it, which asks for each word what the processor can do.
inline std::uint32_t add_word(std::uint64_t word, std::uint32_t hash) {
#ifdef __SSE4_2__
  return static_cast<std::uint32_t>(_mm_crc32_u64(hash, word));
#else
  return rte_hash_crc_8byte(word, hash);
#endif
}

inline std::uint32_t hash_of(const KeyIndex::Key& key) {
  std::uint32_t hash = 0;
  for (const std::uint64_t word : std::bit_cast<std::array<std::uint64_t, sizeof(key) / 8>>(key))
    hash = add_word(word, hash);
  return hash;
}

}  // namespace

KeyIndex::KeyIndex(std::uint32_t capacity, const std::string& name, const std::string& what) {
  static_assert(sizeof(Key) == 48, "no padding may enter the hash");
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
  if (rte_hash_lookup_with_hash_data(hash_, &key, hash_of(key), &data) < 0) return std::nullopt;
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data));
}

void KeyIndex::find(std::span<const Key> keys, std::uint32_t* values) const noexcept {
  std::array<const void*, kMostAtOnce> wanted;
  std::array<hash_sig_t, kMostAtOnce> hashes;
  std::array<void*, kMostAtOnce> data;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    wanted[i] = &keys[i];
    hashes[i] = hash_of(keys[i]);
  }
  std::uint64_t hits = 0;
  rte_hash_lookup_with_hash_bulk_data(hash_, wanted.data(), hashes.data(), static_cast<std::uint32_t>(keys.size()),
                                      &hits, data.data());
  for (std::size_t i = 0; i < keys.size(); ++i)
    values[i] = (hits >> i & 1) != 0 ? static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data[i])) : kNone;
}

bool KeyIndex::put(const Key& key, std::uint32_t value) noexcept {
  return rte_hash_add_key_with_hash_data(hash_, &key, hash_of(key),
                                         reinterpret_cast<void*>(static_cast<std::uintptr_t>(value))) == 0;
}

void KeyIndex::erase(const Key& key) noexcept { rte_hash_del_key_with_hash(hash_, &key, hash_of(key)); }

}  // namespace longhaul::flow
