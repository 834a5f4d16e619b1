// SPDX-License-Identifier: BSD-3-Clause
// Which flows are accelerated: an ordered list of address prefixes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/policy.hpp"
#include "wire/frame.hpp"

namespace longhaul::flow {

using longhaul::name_of;
using longhaul::Policy;

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
