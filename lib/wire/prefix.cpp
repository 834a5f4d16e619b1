// SPDX-License-Identifier: BSD-3-Clause
#include "wire/prefix.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>

namespace longhaul::wire {

namespace {
constexpr unsigned kIpv4MappedBits = 96;
}

bool Prefix::contains(const IpAddress& candidate) const noexcept {
  const std::size_t whole = length / 8;
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  candidate.bytes.begin()))
    return false;
  const unsigned rest = length % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return (address.bytes[whole] & mask) == (candidate.bytes[whole] & mask);
}

Prefix Prefix::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  Prefix prefix;
  prefix.address = IpAddress::parse(std::string(text.substr(0, slash)));
  const unsigned base = prefix.address.is_ipv4() ? kIpv4MappedBits : 0;
  unsigned bits = 128 - base;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    unsigned given = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), given);
    if (error != std::errc{} || end != digits.data() + digits.size() || given > bits)
      throw std::invalid_argument("'" + std::string(text) + "': prefix length must be 0 to " + std::to_string(bits));
    bits = given;
  }
  prefix.length = static_cast<std::uint8_t>(base + bits);
  return prefix;
}

unsigned Prefix::family_length() const noexcept { return length - (address.is_ipv4() ? kIpv4MappedBits : 0); }

std::string Prefix::to_string() const { return address.to_string() + '/' + std::to_string(family_length()); }

}  // namespace longhaul::wire
