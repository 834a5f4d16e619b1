// SPDX-License-Identifier: BSD-3-Clause
#include "flow/key_index.hpp"

#include <rte_lcore.h>
#include <rte_malloc.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace longhaul::flow {

namespace {

// What rte_malloc adds: a cache line before, a cache line after, and padding.
constexpr std::uint64_t kAround = 3 * RTE_CACHE_LINE_SIZE;

}  // namespace

KeyIndex::Secret KeyIndex::random_secret() {
  Secret secret;
  if (getentropy(secret.data(), sizeof(secret)) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot get random numbers for a hash");
  return secret;
}

std::uint32_t KeyIndex::buckets_for(std::uint32_t capacity) {
  // A quarter more, and one bucket: in a small table both buckets of a key are often the same.
  return (capacity + capacity / 4 + kPlaces - 1) / kPlaces + 1;
}

std::uint64_t KeyIndex::bytes_needed(std::uint32_t capacity) {
  return std::uint64_t{buckets_for(capacity)} * (kPlaces * sizeof(Entry) + sizeof(Bucket)) + kAround;
}

KeyIndex::KeyIndex(std::uint32_t capacity, const std::string& what, const Secret& secret)
    : secret_(secret), bucket_count_(buckets_for(capacity)) {
  const std::size_t entry_bytes = std::size_t{bucket_count_} * kPlaces * sizeof(Entry);
  void* memory = rte_zmalloc_socket("key_index", entry_bytes + bucket_count_ * sizeof(Bucket), alignof(Entry),
                                    static_cast<int>(rte_socket_id()));
  if (memory == nullptr)
    throw std::runtime_error(what + ": " + std::to_string(bytes_needed(capacity)) +
                             " bytes of DPDK memory are not available");
  entries_ = static_cast<Entry*>(memory);
  buckets_ = reinterpret_cast<Bucket*>(static_cast<char*>(memory) + entry_bytes);
}

KeyIndex::~KeyIndex() { rte_free(entries_); }

std::optional<std::uint32_t> KeyIndex::find(const KeyView& key) const noexcept {
  const Spot spot = spot_of(key);
  const Entry* entry = entry_of(key, spot);
  if (entry == nullptr) return std::nullopt;
  return entry->value;
}

bool KeyIndex::put(const KeyView& key, std::uint32_t value) noexcept {
  const Spot spot = spot_of(key);
  const Entry* entry = entry_of(key, spot);
  const Place place = entry != nullptr ? place_of(entry) : make_room(spot);
  if (place == kNowhere) return false;
  entries_[place] = {key.copy(), value};
  signature(place) = spot.signature;
  return true;
}

void KeyIndex::erase(const KeyView& key) noexcept {
  const Spot spot = spot_of(key);
  if (const Entry* entry = entry_of(key, spot)) signature(place_of(entry)) = 0;
}

KeyIndex::Place KeyIndex::free_place(std::uint32_t bucket) const noexcept {
  const auto& signatures = buckets_[bucket].signatures;
  for (std::uint32_t i = 0; i < kPlaces; ++i)
    if (signatures[i] == 0) return bucket * kPlaces + i;
  return kNowhere;
}

std::uint32_t KeyIndex::other_bucket(Place place) const noexcept {
  const Spot spot = spot_of(entries_[place].key);
  return spot.buckets[place / kPlaces == spot.buckets[0] ? 1 : 0];
}

void KeyIndex::move(Place from, Place to) noexcept {
  entries_[to] = entries_[from];
  signature(to) = signature(from);
  signature(from) = 0;
}

// Finds a free place in one of the two buckets. When both are full, keys move to their other buckets. A breadth-first
// search finds the fewest moves before any key moves, so nothing has moved when there is no room. With the fewest moves
// no place is left twice.
KeyIndex::Place KeyIndex::make_room(const Spot& spot) noexcept {
  for (const std::uint32_t bucket : spot.buckets)
    if (const Place place = free_place(bucket); place != kNowhere) return place;

  constexpr std::uint32_t kMostSteps = 256;
  constexpr std::uint32_t kStart = 0xffffffff;
  struct Step {
    std::uint32_t bucket;  ///< full
    std::uint32_t before;  ///< the step that leads here: a key moves from its bucket
    Place from;            ///< the place of that key
  };
  std::array<Step, kMostSteps> steps;
  std::uint32_t count = 0;
  for (const std::uint32_t bucket : spot.buckets) steps[count++] = {bucket, kStart, kNowhere};
  for (std::uint32_t at = 0; at < count; ++at)
    for (std::uint32_t i = 0; i < kPlaces; ++i) {
      Place from = steps[at].bucket * kPlaces + i;
      const std::uint32_t bucket = other_bucket(from);
      Place to = free_place(bucket);
      if (to == kNowhere) {
        if (count < kMostSteps) steps[count++] = {bucket, at, from};
        continue;
      }
      for (std::uint32_t step = at;; step = steps[step].before) {
        move(from, to);
        to = from;
        if (steps[step].before == kStart) return to;
        from = steps[step].from;
      }
    }
  return kNowhere;
}

}  // namespace longhaul::flow
