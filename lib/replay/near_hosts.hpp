// SPDX-License-Identifier: BSD-3-Clause
// The port of the box at which a captured frame would have arrived: a capture does not say.
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

/// Tells near hosts' frames from all others by their sender:
/// 1. if the sender's address, in an IP header or in ARP, identifies a host, it decides alone;
/// 2. otherwise (no IP, or an unspecified or link-local address) the source MAC decides, if a frame of a near host
///    carried it earlier in the capture;
/// 3. otherwise the frame comes from the WAN.
class NearHosts {
 public:
  explicit NearHosts(std::vector<flow::Prefix> prefixes) : prefixes_(std::move(prefixes)) {}

  /// The side at which `frame` arrives. Remembers the MACs of near hosts.
  Side side_of(std::span<const std::uint8_t> frame);

  /// A prefix has this address in it.
  bool is_near(const wire::IpAddress& address) const;

 private:
  std::vector<flow::Prefix> prefixes_;
  std::set<wire::MacAddress> macs_;
};

}  // namespace longhaul::replay
