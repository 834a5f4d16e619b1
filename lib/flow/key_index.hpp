// SPDX-License-Identifier: BSD-3-Clause
// A hash from (VLAN tags, two IP addresses, a QPN) to a small number, in DPDK's rte_hash. It never grows; whoever owns
// the numbered slots owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/frame.hpp"

struct rte_hash;

namespace longhaul::flow {

class KeyIndex {
 public:
  struct Key {
    wire::IpAddress first;
    wire::IpAddress second;
    wire::VlanKey vlan;
    std::uint32_t qpn = 0;
    std::uint64_t unused = 0;  ///< 48 bytes, which rte_hash compares three vectors at a time
  };

  /// Room for `capacity` keys. `what` is for the message of the std::runtime_error that says why the EAL refused;
  /// `name` must be unique in the process.
  KeyIndex(std::uint32_t capacity, const std::string& name, const std::string& what);
  ~KeyIndex();
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;

  std::optional<std::uint32_t> find(const Key& key) const noexcept;

  /// A number that no key has.
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kMostAtOnce = 64;
  /// The values of up to kMostAtOnce keys, kNone for those that are not there: the memory of one is on its way while
  /// others are looked at. `values` has room for all.
  void find(std::span<const Key> keys, std::uint32_t* values) const noexcept;

  /// Adds the key, or gives it another value, for which there always is room. False when there is none.
  bool put(const Key& key, std::uint32_t value) noexcept;
  void erase(const Key& key) noexcept;

 private:
  rte_hash* hash_;
};

}  // namespace longhaul::flow
