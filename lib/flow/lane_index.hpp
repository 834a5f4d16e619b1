// SPDX-License-Identifier: BSD-3-Clause
// The connections whose frames are IPv4 without VLAN tags, found by one cache line: for the lane, beside the KeyIndex,
// which has them all. Buckets of four; a connection that finds its bucket full is not here, and its frames take the
// general path. Nothing is ever moved, so nobody can make a look-up longer.
#pragma once

#include <rte_prefetch.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/hash_secret.hpp"
#include "base/side.hpp"
#include "flow/key_index.hpp"

namespace longhaul::flow {

class LaneIndex {
 public:
  static constexpr std::uint32_t kNone = KeyIndex::kNone;

  struct Key {
    std::uint64_t addresses;     ///< as in the frame: source, then destination
    std::uint32_t side_and_qpn;  ///< where the frame comes in, and its destination QP

    static Key of(Side from, std::uint64_t addresses, std::uint32_t qpn) {
      return {addresses, qpn | static_cast<std::uint32_t>(from) << 24};
    }
    wire::IpAddress source() const { return address(0); }
    wire::IpAddress destination() const { return address(4); }
    wire::IpAddress address(std::size_t at) const {
      std::array<std::uint8_t, 4> octets;
      std::memcpy(octets.data(), reinterpret_cast<const std::uint8_t*>(&addresses) + at, octets.size());
      return wire::IpAddress::from_ipv4(octets);
    }
  };

  explicit LaneIndex(std::uint32_t capacity) : buckets_(capacity) {}
  /// Of ordinary memory. With as many connections as there is room for, two in a hundred are not here.
  static constexpr std::uint64_t kBytesPerConnection = 64;

  /// Where `key` has its place; find() wants to know.
  [[gnu::always_inline]] std::uint32_t bucket_of(const Key& key) const {
    const std::uint64_t hash = mix_keyed(mix_keyed(secret_, key.addresses, secret_), key.side_and_qpn, secret_);
    return static_cast<std::uint32_t>((hash >> 32) * buckets_.size() >> 32);
  }
  [[gnu::always_inline]] void prefetch(std::uint32_t bucket) const { rte_prefetch0(&buckets_[bucket]); }

  [[gnu::always_inline]] std::uint32_t find(const Key& key, std::uint32_t bucket) const {
    for (const Entry& entry : buckets_[bucket])
      if (entry.is(key)) return entry.connection;
    return kNone;
  }

  /// The key must not be here yet.
  void put(const Key& key, std::uint32_t connection) {
    for (Entry& entry : buckets_[bucket_of(key)])
      if (entry.connection == kNone) {
        entry = {key.addresses, key.side_and_qpn, connection};
        return;
      }
  }
  void erase(const Key& key) {
    for (Entry& entry : buckets_[bucket_of(key)])
      if (entry.is(key)) entry = Entry{};
  }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;  // no key has more than 25 bits here

  struct Entry {
    std::uint64_t addresses = 0;
    std::uint32_t side_and_qpn = kFree;
    std::uint32_t connection = kNone;

    [[gnu::always_inline]] bool is(const Key& key) const {
      return addresses == key.addresses && side_and_qpn == key.side_and_qpn;
    }
  };
  struct alignas(64) Bucket : std::array<Entry, 4> {};
  static_assert(sizeof(Bucket) == 64);

  std::uint64_t secret_ = hash_secret();
  std::vector<Bucket> buckets_;
};

}  // namespace longhaul::flow
