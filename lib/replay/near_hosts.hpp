// SPDX-License-Identifier: BSD-3-Clause
// Which port of the box a captured frame would have come in on: a capture does not say.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/side.hpp"
#include "flow/policy.hpp"
#include "wire/headers.hpp"

namespace longhaul::replay {

/// Tells near hosts' frames from all others by who sent them:
/// 1. the sender's address, in an IP header or in ARP, decides alone when it tells hosts apart;
/// 2. otherwise (no IP, an unspecified or link-local address) the source MAC does, if a near host's frame carried it
///    earlier in the capture;
/// 3. otherwise the frame comes from the WAN.
class NearHosts {
 public:
  explicit NearHosts(std::vector<flow::Prefix> prefixes) : prefixes_(std::move(prefixes)) {}

  /// The side on which `frame` comes in. Remembers the MACs of near hosts.
  Side side_of(std::span<const std::uint8_t> frame);

 private:
  bool is_near(const wire::IpAddress& address) const;

  std::vector<flow::Prefix> prefixes_;
  std::set<wire::MacAddress> macs_;
};

}  // namespace longhaul::replay
