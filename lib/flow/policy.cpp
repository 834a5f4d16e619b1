// SPDX-License-Identifier: BSD-3-Clause
#include "flow/policy.hpp"

#include <array>
#include <charconv>
#include <stdexcept>
#include <string>

namespace longhaul::flow {

bool EceMatch::matches(const EceExchange* ece) const noexcept {
  if (kind == Kind::unasked) return true;
  if (ece == nullptr) return false;
  switch (kind) {
    case Kind::none:
      return !ece->accepted.given();
    case Kind::any:
      return ece->accepted.given();
    case Kind::vendor:
      return ece->accepted.vendor_id == vendor_id;
    case Kind::unasked:
      break;
  }
  return true;
}

EceMatch EceMatch::parse(std::string_view text) {
  if (text == "any") return {Kind::any};
  if (text == "none") return {Kind::none};
  const bool hexadecimal = text.starts_with("0x");
  const std::string_view digits = text.substr(hexadecimal ? 2 : 0);
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size() || id == 0 || id > wire::kMostEceVendor)
    throw std::invalid_argument("'" + std::string(text) +
                                "': expected any, none, or a vendor ID from 0x1 to 0xffffff, such as 0x15b3");
  return {Kind::vendor, id};
}

std::string EceMatch::to_string() const {
  switch (kind) {
    case Kind::unasked:
      return {};
    case Kind::none:
      return "none";
    case Kind::any:
      return "any";
    case Kind::vendor:
      break;
  }
  std::array<char, 2 * sizeof(vendor_id)> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), vendor_id, 16);
  return "0x" + std::string(digits.data(), end);
}

Policy PolicyTable::search(const wire::IpAddress& requester, const wire::IpAddress& responder,
                           const EceExchange* ece) const noexcept {
  for (const Rule& rule : rules)
    if ((rule.match.contains(requester) || rule.match.contains(responder)) && rule.ece.matches(ece)) return rule.policy;
  return fallback;
}

}  // namespace longhaul::flow
