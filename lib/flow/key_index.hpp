// SPDX-License-Identifier: BSD-3-Clause
// A hash from (VLAN tags, two IP addresses, a QPN) to a small number. Each RoCE frame is looked up here, and DPDK's
// rte_hash takes three times the instructions. The index never grows. The owner of the numbered slots owns it.
#pragma once

#include <rte_prefetch.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "flow/signatures.hpp"
#include "wire/frame.hpp"

namespace longhaul::flow {

/// Cuckoo hashing in buckets of eight: a key is in one of the two buckets that its hash names, or not there. For each
/// place, the bucket keeps 15 bits of the key's hash. So a look-up touches two buckets, a quarter of a cache line each,
/// and then nearly always one key.
class KeyIndex {
 public:
  struct Key {
    wire::IpAddress first;
    wire::IpAddress second;
    wire::VlanKey vlan;
    std::uint32_t qpn = 0;

    bool operator==(const Key&) const = default;
  };
  /// A key whose addresses are elsewhere, for example in a frame: a look-up copies nothing.
  struct KeyView {
    const wire::IpAddress& first;
    const wire::IpAddress& second;
    wire::VlanKey vlan;
    std::uint32_t qpn;

    KeyView(const wire::IpAddress& one, const wire::IpAddress& two, wire::VlanKey tags, std::uint32_t number)
        : first(one), second(two), vlan(tags), qpn(number) {}
    KeyView(const Key& key) : KeyView(key.first, key.second, key.vlan, key.qpn) {}  // NOLINT: it is the same
    Key copy() const { return {first, second, vlan, qpn}; }
  };

  /// The key of the hash function. Keys of the table come from the network: without a secret, anyone could choose keys
  /// that all fall into the same two buckets, and keep others out.
  using Secret = std::array<std::uint64_t, 6>;
  /// Throws std::system_error when the kernel gives no random numbers.
  static Secret random_secret();

  /// Room for `capacity` keys and a quarter more, in DPDK's memory. Throws std::runtime_error, with `what` in its
  /// message, when there is not enough memory.
  KeyIndex(std::uint32_t capacity, const std::string& what, const Secret& secret = random_secret());
  ~KeyIndex();
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;

  /// Bytes of DPDK's memory that an index needs, with what rte_malloc adds.
  static std::uint64_t bytes_needed(std::uint32_t capacity);

  std::optional<std::uint32_t> find(const KeyView& key) const noexcept;

  /// A number that no key has.
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kMostAtOnce = 64;
  /// Finds the values of up to kMostAtOnce keys: calls found(i, value) for each in turn, with kNone for those that are
  /// not there. KeyView key_at(i) gives the keys and may be called more than once. The memory of one key is prefetched
  /// while others are examined.
  template <typename KeyAt, typename Found>
  void find(std::size_t count, KeyAt&& key_at, Found&& found) const noexcept;

  /// Adds the key, or changes its value, which always succeeds. Returns false when there is no room. With up to
  /// `capacity` keys, that takes more than 16 that share both their buckets.
  bool put(const KeyView& key, std::uint32_t value) noexcept;
  void erase(const KeyView& key) noexcept;

 private:
  static constexpr std::uint32_t kPlaces = 8;  ///< of a bucket
  struct alignas(64) Entry {
    Key key;
    std::uint32_t value;
  };
  static_assert(sizeof(Key) == 40 && sizeof(Entry) == 64, "no padding may enter the hash; one cache line");
  struct alignas(16) Bucket {
    Signatures signatures;  ///< of the keys in the bucket's places; 0: free
  };
  struct Spot {
    std::uint32_t buckets[2];
    std::uint16_t signature;
  };
  using Place = std::uint32_t;  ///< eight times the bucket, plus the place in the bucket
  static constexpr Place kNowhere = 0xffffffff;

  static std::uint32_t buckets_for(std::uint32_t capacity);
  Spot spot_of(const KeyView& key) const noexcept;
  /// Bit i is set when place i of the first bucket has the signature, bit 8 + i when that of the second bucket has.
  std::uint32_t candidates(const Spot& spot) const noexcept {
    return matches(buckets_[spot.buckets[0]].signatures, buckets_[spot.buckets[1]].signatures, spot.signature);
  }
  /// The entry that the lowest bit of `candidates` stands for.
  const Entry* first_of(const Spot& spot, std::uint32_t candidates) const noexcept {
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(candidates));
    const std::size_t bucket = bit < kPlaces ? spot.buckets[0] : spot.buckets[1];
    return &entries_[bucket * kPlaces + bit % kPlaces];
  }
  /// Null when the key is not there.
  const Entry* entry_of(const KeyView& key, const Spot& spot) const noexcept;
  static bool equal(const KeyView& a, const KeyView& b) noexcept;

  Place place_of(const Entry* entry) const noexcept { return static_cast<Place>(entry - entries_); }
  Place free_place(std::uint32_t bucket) const noexcept;
  Place make_room(const Spot& spot) noexcept;
  void move(Place from, Place to) noexcept;
  std::uint32_t other_bucket(Place place) const noexcept;
  std::uint16_t& signature(Place place) noexcept { return buckets_[place / kPlaces].signatures[place % kPlaces]; }

  Secret secret_;
  std::uint32_t bucket_count_;
  Entry* entries_;  ///< by Place
  Bucket* buckets_;
};

// NH (Black and others, "UMAC", 1999): two keys that are chosen without the secret are unlikely to have the same sum.
// The last multiplication spreads the sum over all bits.
inline KeyIndex::Spot KeyIndex::spot_of(const KeyView& key) const noexcept {
  __extension__ typedef unsigned __int128 Wide;
  constexpr std::uint16_t kTaken = 0x8000;
  const auto folded = [](Wide product) {
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  };
  const auto product = [this](const wire::IpAddress& address, std::size_t secret) {
    std::uint64_t halves[2];
    std::memcpy(halves, address.bytes.data(), sizeof(halves));
    return Wide{halves[0] + secret_[secret]} * (halves[1] + secret_[secret + 1]);
  };
  // Spreads the hash evenly over the buckets, without a division.
  const auto bucket = [this](std::uint64_t half) { return static_cast<std::uint32_t>(half * bucket_count_ >> 32); };
  const Wide sum =
      product(key.first, 0) + product(key.second, 2) + Wide{std::uint64_t{key.vlan.value} << 32 | key.qpn} * secret_[4];
  const std::uint64_t hash = folded(Wide{folded(sum)} * secret_[5]);
  return {{bucket(hash & 0xffffffff), bucket(hash >> 32)}, static_cast<std::uint16_t>(hash | kTaken)};
}

inline bool KeyIndex::equal(const KeyView& a, const KeyView& b) noexcept {
  typedef std::uint64_t Halves __attribute__((vector_size(16)));
  const auto different = [](const wire::IpAddress& one, const wire::IpAddress& two) {
    return std::bit_cast<Halves>(one) ^ std::bit_cast<Halves>(two);
  };
  const Halves addresses = different(a.first, b.first) | different(a.second, b.second);
  return (addresses[0] | addresses[1] | (a.vlan.value ^ b.vlan.value) | (a.qpn ^ b.qpn)) == 0;
}

inline const KeyIndex::Entry* KeyIndex::entry_of(const KeyView& key, const Spot& spot) const noexcept {
  for (std::uint32_t left = candidates(spot); left != 0; left &= left - 1) {
    const Entry* entry = first_of(spot, left);
    if (equal(entry->key, key)) return entry;
  }
  return nullptr;
}

template <typename KeyAt, typename Found>
void KeyIndex::find(std::size_t count, KeyAt&& key_at, Found&& found) const noexcept {
  std::array<Spot, kMostAtOnce> spots;
  std::array<const Entry*, kMostAtOnce> entries;
  for (std::size_t i = 0; i < count; ++i) {
    spots[i] = spot_of(key_at(i));
    for (const std::uint32_t bucket : spots[i].buckets) rte_prefetch0(&buckets_[bucket]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t some = candidates(spots[i]);
    entries[i] = some == 0 ? nullptr : first_of(spots[i], some);
    rte_prefetch0(entries[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Entry* entry = entries[i];
    if (entry != nullptr && !equal(entry->key, key_at(i))) [[unlikely]]
      entry = entry_of(key_at(i), spots[i]);
    found(i, entry == nullptr ? kNone : entry->value);
  }
}

}  // namespace longhaul::flow
