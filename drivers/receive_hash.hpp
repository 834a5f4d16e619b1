// SPDX-License-Identifier: BSD-3-Clause
// What a NIC is asked to spread received frames by: nothing but the two IP addresses, as steer::pair_hash() does, where
// it can.
#pragma once

#include <cstdint>

namespace longhaul::drivers {

struct ReceiveHash {
  std::uint64_t fields = 0;   ///< RTE_ETH_RSS_...; 0: the NIC cannot spread RoCE frames
  bool with_ports = false;    ///< of UDP frames the ports count too, so some are handed on to their home
  bool without_ipv4 = false;  ///< all IPv4 frames come to the first worker
  bool without_ipv6 = false;  ///< all IPv6 frames come to the first worker
};

/// The best that a NIC offers (flow_type_rss_offloads). Some, i40e among them, hash UDP frames by nothing that does not
/// say UDP: there IPv4 and IPv6 alone are not offered, and the ports come in. (To ask for L3_SRC_ONLY and L3_DST_ONLY
/// together is to DPDK as to ask for neither.)
ReceiveHash receive_hash(std::uint64_t offered);

}  // namespace longhaul::drivers
