// SPDX-License-Identifier: BSD-3-Clause
// Which flows are accelerated: an ordered list of address prefixes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wire/frame.hpp"

namespace longhaul::flow {

enum class Policy : std::uint8_t {
  off,     ///< learn and count only
  window,  ///< acknowledge within messages, never their ends: completions stay end-to-end true
  full,    ///< acknowledge everything in custody
};

/// As the configuration spells it.
constexpr std::string_view name_of(Policy policy) {
  constexpr std::string_view kNames[] = {"off", "window", "full"};
  return kNames[static_cast<std::size_t>(policy)];
}

/// An address prefix; IPv4 prefixes are held as ::ffff:0:0/96 plus their length.
struct Prefix {
  wire::IpAddress address;
  std::uint8_t length = 0;  ///< bits of the 16-byte address: IPv4 /24 is 120

  bool contains(const wire::IpAddress& candidate) const noexcept;
  /// Parses "10.9.0.0/24", "fd00::/64" or a bare address. Throws std::invalid_argument that says what is wrong.
  static Prefix parse(std::string_view text);
};

/// The first rule whose prefix contains either end of a connection decides; otherwise the default.
struct PolicyTable {
  struct Rule {
    Prefix match;
    Policy policy;
  };
  std::vector<Rule> rules;
  Policy fallback = Policy::full;

  Policy lookup(const wire::IpAddress& requester, const wire::IpAddress& responder) const noexcept;
};

}  // namespace longhaul::flow
