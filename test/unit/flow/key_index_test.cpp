// SPDX-License-Identifier: BSD-3-Clause
// The table of keys against std::map, with random steps and with hashes that collide.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "flow/key_index.hpp"
#include "flow/signatures.hpp"
#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;
using flow::KeyIndex;

namespace {

using Random = std::mt19937_64;

/// The hosts are few, so most keys differ in one field only.
KeyIndex::Key key_of(std::uint32_t number) {
  KeyIndex::Key key;
  const auto host = static_cast<std::uint8_t>(number % 4);
  key.first = number % 3 == 0 ? wire::IpAddress::from_ipv6({0xfd, host}) : wire::IpAddress::from_ipv4({10, 0, 0, host});
  key.second = wire::IpAddress::from_ipv4({10, 1, 0, static_cast<std::uint8_t>(number / 4 % 4)});
  key.vlan.value = number / 16 % 2;
  key.qpn = number / 32;
  return key;
}

// Keys that collide under a secret of zeros: the words that differ are multiplied by 0.
KeyIndex::Key colliding_key(std::uint32_t number) {
  KeyIndex::Key key;
  key.qpn = number;
  return key;
}

/// A table and what it should hold.
class IndexAndMap {
 public:
  using MakeKey = KeyIndex::Key (*)(std::uint32_t number);

  IndexAndMap(std::uint32_t capacity, MakeKey make_key, std::uint32_t keys, const KeyIndex::Secret& secret)
      : index_(capacity, "test", secret), make_key_(make_key), keys_(keys) {}

  /// False if there is no room.
  bool put(std::uint32_t number, std::uint32_t value) {
    const bool done = index_.put(make_key_(number), value);
    if (done) model_[number] = value;
    REQUIRE((done || !model_.contains(number)));
    return done;
  }
  void erase(std::uint32_t number) {
    index_.erase(make_key_(number));
    model_.erase(number);
  }
  void check(std::uint32_t number) const {
    const auto there = model_.find(number);
    const auto found = index_.find(make_key_(number));
    REQUIRE(found.has_value() == (there != model_.end()));
    if (found) REQUIRE(*found == there->second);
  }
  /// Checks each key alone, and then as many at once as the index allows.
  void check_all() const {
    for (std::uint32_t number = 0; number < keys_; ++number) check(number);
    for (std::uint32_t first = 0; first < keys_; first += KeyIndex::kMostAtOnce) {
      const std::size_t count = std::min<std::size_t>(keys_ - first, KeyIndex::kMostAtOnce);
      const auto number = [first](std::size_t i) { return first + static_cast<std::uint32_t>(i); };
      std::array<KeyIndex::Key, KeyIndex::kMostAtOnce> keys;
      for (std::size_t i = 0; i < count; ++i) keys[i] = make_key_(number(i));
      std::size_t next = 0;
      index_.find(
          count, [&](std::size_t i) -> KeyIndex::KeyView { return keys[i]; },
          [&](std::size_t i, std::uint32_t value) {
            REQUIRE(i == next++);
            const auto there = model_.find(number(i));
            REQUIRE(value == (there == model_.end() ? KeyIndex::kNone : there->second));
          });
      REQUIRE(next == count);
    }
  }
  std::size_t size() const { return model_.size(); }

 private:
  KeyIndex index_;
  MakeKey make_key_;
  std::uint32_t keys_;
  std::map<std::uint32_t, std::uint32_t> model_;
};

KeyIndex::Secret secret_of(Random& random) {
  KeyIndex::Secret secret;
  for (std::uint64_t& word : secret) word = random();
  return secret;
}

}  // namespace

TEST_CASE("any steps leave the keys there that a map has, with their values", "[flow][key_index]") {
  const Rig eal;
  Random random(1);
  for (const std::uint32_t capacity : {1u, 2u, 7u, 8u, 9u, 30u, 100u, 1000u}) {
    // More than twice as many keys as the capacity, so the room beyond it is filled too.
    const std::uint32_t keys = 2 * capacity + 20;
    IndexAndMap both(capacity, key_of, keys, secret_of(random));
    for (std::uint32_t step = 0; step < 40 * keys; ++step) {
      const auto number = static_cast<std::uint32_t>(random() % keys);
      // First the table fills up, then keys come and go.
      if (random() % 8 < (step < 10 * keys ? 7 : 4)) {
        const bool has_room = both.size() < capacity;
        const bool done = both.put(number, static_cast<std::uint32_t>(random() >> 33));
        REQUIRE((done || !has_room));
      } else {
        both.erase(number);
      }
      both.check(static_cast<std::uint32_t>(random() % keys));
    }
    both.check_all();
  }
}

TEST_CASE("each capacity has room for as many keys, whatever the secret, and says when there is none",
          "[flow][key_index]") {
  const Rig eal;
  Random random(2);
  for (std::uint32_t capacity = 1; capacity < 300; ++capacity) {
    const std::uint32_t keys = 3 * capacity + 40;
    IndexAndMap both(capacity, key_of, keys, secret_of(random));
    std::uint32_t refused = 0;
    for (std::uint32_t number = 0; number < keys; ++number) {
      const bool done = both.put(number, number);
      REQUIRE((done || both.size() >= capacity));
      refused += !done;
    }
    REQUIRE(refused > 0);
    both.check_all();
    // Refused keys changed nothing. Keys in the table take another value.
    for (std::uint32_t number = 0; number < capacity; ++number) REQUIRE(both.put(number, number + 1));
    both.check_all();
    for (std::uint32_t number = 0; number < keys; ++number) both.erase(number);
    both.check_all();
    for (std::uint32_t number = 0; number < capacity; ++number) REQUIRE(both.put(number, 7));
    both.check_all();
  }
}

TEST_CASE("keys spread so evenly that nearly all places of a table can be filled", "[flow][key_index]") {
  const Rig eal;
  Random random(5);
  constexpr std::uint32_t kCapacity = 10'000;  // and a quarter more places
  for (unsigned round = 0; round < 5; ++round) {
    KeyIndex index(kCapacity, "test", secret_of(random));
    std::uint32_t keys = 0;
    while (index.put(key_of(keys), keys)) ++keys;
    CHECK(keys > kCapacity + kCapacity / 5);
  }
}

TEST_CASE("keys of one hash: eight have room, and are told apart", "[flow][key_index]") {
  const Rig eal;
  Random random(3);
  constexpr std::uint32_t kKeys = 40;
  IndexAndMap both(1000, colliding_key, kKeys, {});
  std::size_t most = 0;
  for (std::uint32_t step = 0; step < 4000; ++step) {
    const auto number = static_cast<std::uint32_t>(random() % kKeys);
    if (random() % 2 == 0)
      both.put(number, step);
    else
      both.erase(number);
    REQUIRE(both.size() <= 8);
    most = std::max(most, both.size());
    both.check_all();
  }
  CHECK(most == 8);
}

TEST_CASE("65,536 keys of a pair of hosts, put in order", "[flow][key_index]") {
  const Rig eal;
  constexpr std::uint32_t kKeys = 65536;
  KeyIndex index(kKeys, "test");
  const auto key_of_qpn = [](std::uint32_t qpn) {
    KeyIndex::Key key;
    key.first = wire::IpAddress::from_ipv4({10, 0, 0, 1});
    key.second = wire::IpAddress::from_ipv4({10, 0, 0, 2});
    key.qpn = qpn;
    return key;
  };
  for (std::uint32_t qpn = 0; qpn < kKeys; ++qpn) REQUIRE(index.put(key_of_qpn(qpn), qpn + 1));
  std::uint32_t found = 0;
  for (std::uint32_t qpn = 0; qpn < kKeys; ++qpn) found += index.find(key_of_qpn(qpn)) == qpn + 1;
  CHECK(found == kKeys);
  std::uint32_t strangers = 0;
  for (std::uint32_t qpn = kKeys; qpn < 2 * kKeys; ++qpn) strangers += index.find(key_of_qpn(qpn)).has_value();
  CHECK(strangers == 0);
}

TEST_CASE("no two secrets are alike", "[flow][key_index]") {
  CHECK(KeyIndex::random_secret() != KeyIndex::random_secret());
}

TEST_CASE("signatures are compared alike by vectors and one by one", "[flow][key_index]") {
  Random random(4);
  for (unsigned round = 0; round < 10000; ++round) {
    alignas(16) flow::Signatures first;
    alignas(16) flow::Signatures second;
    const auto some = [&random] {
      constexpr std::array<std::uint16_t, 5> kSome = {0, 1, 0x7fff, 0x8000, 0xffff};
      return kSome[random() % kSome.size()];
    };
    for (std::uint16_t& signature : first) signature = some();
    for (std::uint16_t& signature : second) signature = some();
    const std::uint16_t sought = some();
    std::uint32_t expected = 0;
    for (unsigned i = 0; i < 16; ++i)
      if ((i < 8 ? first[i] : second[i - 8]) == sought) expected |= 1u << i;
    REQUIRE(flow::matches(first, second, sought) == expected);
    REQUIRE(flow::matches_scalar(first, second, sought) == expected);
  }
}
