// SPDX-License-Identifier: BSD-3-Clause
// The candidates of the traffic learner by the UDP source port of their requests: a list for each port between two
// hosts. Most lists have a single member. But a host may use one port for everything, and its list is then as long as
// the table, so a caller must stop walking after a few members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flow/key_index.hpp"

namespace longhaul::flow {

class PortLists {
 public:
  using Key = KeyIndex::KeyView;  ///< its number is the port

  /// Members are numbers below `capacity`. Throws std::runtime_error, with `what` in its message, when the EAL has no
  /// memory.
  PortLists(std::uint32_t capacity, const std::string& what) : heads_(capacity, what), links_(capacity) {}

  /// Returns false when the index has no room. `member` must be in no list.
  bool add(std::uint32_t member, const Key& key) noexcept;
  /// `member` must be in the list of `key`.
  void remove(std::uint32_t member, const Key& key) noexcept;
  /// Calls bool visit(member) for the members of a list, until one call returns false.
  template <typename Visit>
  void walk(const Key& key, Visit&& visit) const {
    for (auto member = heads_.find(key); member && visit(*member);) {
      const std::uint32_t after = links_[*member].after;
      if (after == KeyIndex::kNone) return;
      member = after;
    }
  }

  /// Ordinary memory for each member, besides a KeyIndex entry.
  static constexpr std::size_t kBytesPerMember = 2 * sizeof(std::uint32_t);

 private:
  struct Link {
    std::uint32_t before = KeyIndex::kNone;
    std::uint32_t after = KeyIndex::kNone;
  };
  static_assert(sizeof(Link) == kBytesPerMember);

  KeyIndex heads_;
  std::vector<Link> links_;
};

}  // namespace longhaul::flow
