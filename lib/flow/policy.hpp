// SPDX-License-Identifier: BSD-3-Clause
// Which flows are accelerated: an ordered list of address prefixes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/policy.hpp"
#include "flow/connection.hpp"
#include "wire/frame.hpp"
#include "wire/prefix.hpp"

namespace longhaul::flow {

using longhaul::name_of;
using longhaul::Policy;
using wire::Prefix;

/// Which enhanced connection establishment a rule is about. What decides is what the REP accepted: an offer that was
/// not taken changes nothing on the wire. Where no RDMA-CM was seen nobody knows, and only `unasked` matches.
struct EceMatch {
  enum class Kind : std::uint8_t { unasked, none, any, vendor };
  Kind kind = Kind::unasked;
  std::uint32_t vendor_id = 0;  ///< 24 bits, of `vendor`

  /// `ece` is null where no RDMA-CM was seen.
  bool matches(const EceExchange* ece) const noexcept;
  bool operator==(const EceMatch&) const = default;
  /// Parses "any", "none" or a vendor ID such as "0x15b3". Throws std::invalid_argument that says what is wrong.
  static EceMatch parse(std::string_view text);
  /// What parse() reads; empty for `unasked`.
  std::string to_string() const;
};

/// The first rule whose prefix contains either end of a connection, and whose ECE is the connection's, decides;
/// otherwise the default.
struct PolicyTable {
  struct Rule {
    Prefix match;
    Policy policy;
    EceMatch ece = {};
  };
  std::vector<Rule> rules;
  Policy fallback = Policy::full;

  /// Of a connection of which no RDMA-CM was seen. In line, because the traffic learner asks for each frame.
  Policy lookup(const wire::IpAddress& requester, const wire::IpAddress& responder) const noexcept {
    return rules.empty() ? fallback : search(requester, responder, nullptr);
  }
  Policy lookup(const wire::IpAddress& requester, const wire::IpAddress& responder,
                const std::optional<EceExchange>& ece) const noexcept {
    return rules.empty() ? fallback : search(requester, responder, ece ? &*ece : nullptr);
  }

 private:
  Policy search(const wire::IpAddress& requester, const wire::IpAddress& responder,
                const EceExchange* ece) const noexcept;
};

}  // namespace longhaul::flow
