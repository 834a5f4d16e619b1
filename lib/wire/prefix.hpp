// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/frame.hpp"

namespace longhaul::wire {

/// An address prefix; IPv4 prefixes are held as ::ffff:0:0/96 plus their length.
struct Prefix {
  IpAddress address;
  std::uint8_t length = 0;  ///< bits of the 16-byte address: IPv4 /24 is 120

  bool contains(const IpAddress& candidate) const noexcept;
  /// Parses "10.9.0.0/24", "fd00::/64" or a bare address. Throws std::invalid_argument that says what is wrong.
  static Prefix parse(std::string_view text);
  /// As in text: /24 of IPv4 is 24.
  unsigned family_length() const noexcept;
  /// "10.9.0.0/24" or "fd00:9::/64".
  std::string to_string() const;
  /// All addresses, IPv4 too.
  bool is_all() const noexcept { return length == 0; }
  bool operator==(const Prefix&) const = default;
};

}  // namespace longhaul::wire
