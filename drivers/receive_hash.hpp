// SPDX-License-Identifier: BSD-3-Clause
// The fields by which a NIC is asked to spread received frames: the two IP addresses alone, as in steer::pair_hash(),
// if the NIC can.
#pragma once

#include <cstdint>

namespace longhaul::drivers {

struct ReceiveHash {
  std::uint64_t fields = 0;   ///< RTE_ETH_RSS_...; 0: the NIC cannot spread RoCE frames
  bool with_ports = false;    ///< UDP ports are hashed too, so some frames are handed on to their home
  bool without_ipv4 = false;  ///< all IPv4 frames come to the first worker
  bool without_ipv6 = false;  ///< all IPv6 frames come to the first worker
};

/// The best of what a NIC offers (flow_type_rss_offloads). Some NICs, i40e among them, hash UDP frames only by types
/// that name UDP. They do not offer IPv4 and IPv6 alone, so the ports are hashed too. (DPDK takes L3_SRC_ONLY and
/// L3_DST_ONLY together for neither.)
ReceiveHash receive_hash(std::uint64_t offered);

}  // namespace longhaul::drivers
