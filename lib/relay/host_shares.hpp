// SPDX-License-Identifier: BSD-3-Clause
// How pairs of hosts share the packets that a box may keep for its peers (base/fair_share.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "base/fair_share.hpp"
#include "base/time.hpp"
#include "flow/key_index.hpp"

namespace longhaul::relay {

class HostShares {
 public:
  explicit HostShares(std::uint64_t most) : most_(most) {}

  /// Which hosts: a few pairs have one number.
  static std::uint32_t number_of(const flow::KeyIndex::Key& key) {
    std::uint32_t hash = key.vlan.value;
    constexpr std::uint32_t kPrime = 0x01000193;  // FNV-1a
    for (const wire::IpAddress* address : {&key.first, &key.second})
      for (const std::uint8_t byte : address->bytes) hash = (hash ^ byte) * kPrime;
    return (hash ^ hash >> 16) % kShares;
  }

  /// Another packet of these hosts may be kept.
  bool has_room(std::uint32_t hosts, Time now) {
    constexpr Duration kContended = milliseconds(100);
    const std::uint64_t own = by_hosts_[hosts];
    const bool fits = all_ < most_ && within_share(own + 1, most_, all_, most_, now < contended_until_);
    // Others have more of it: they must come down to their share.
    if (all_ >= most_ && own < all_ - own) contended_until_ = now + kContended;
    return fits;
  }
  void add(std::uint32_t hosts) { ++all_, ++by_hosts_[hosts]; }
  void remove(std::uint32_t hosts) { --all_, --by_hosts_[hosts]; }
  std::uint64_t all() const { return all_; }

 private:
  static constexpr std::size_t kShares = 256;

  std::uint64_t most_;
  std::uint64_t all_ = 0;
  std::array<std::uint32_t, kShares> by_hosts_{};
  Time contended_until_ = 0;
};

}  // namespace longhaul::relay
