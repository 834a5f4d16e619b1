// SPDX-License-Identifier: BSD-3-Clause
// ARP and IPv6 Neighbour Advertisements: which MAC address a host or router says its IP address has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wire/frame.hpp"

namespace longhaul::wire {

struct Neighbour {
  VlanKey vlan;
  IpAddress ip;
  MacAddress mac{};
  bool announced = false;  ///< said in an answer or to all hosts, not in a request for another address
  bool overrides = true;   ///< false: must not replace another MAC address that is known for `ip`
};

/// What a frame says about its sender; nothing when it is neither ARP for IPv4 nor a Neighbour Advertisement, or when a
/// receiver would have to discard it (RFC 826; RFC 5227, 1.1: probes say nothing; RFC 4861, 7.1.2). Never reads beyond
/// `frame`.
std::optional<Neighbour> parse_neighbour(std::span<const std::uint8_t> frame) noexcept;

}  // namespace longhaul::wire
