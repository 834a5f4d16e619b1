// SPDX-License-Identifier: BSD-3-Clause
// The checksums of a frame that its ICRC does not replace.
#pragma once

#include <rte_ip.h>

#include <cstdint>

#include "wire/frame.hpp"

namespace longhaul::flow {

/// The UDP checksum, which must not be 0, is right.
[[gnu::noinline]] inline bool udp_checksum_good(const wire::Frame& frame, const wire::UdpHeader& udp) {
  const void* ip = frame.data + frame.ip_offset;
  // Over a datagram with its right checksum in place these functions give 0, which UDP writes as 0xffff.
  constexpr std::uint16_t kGood = 0xffff;
  return kGood == (frame.ipv6 ? rte_ipv6_udptcp_cksum(static_cast<const rte_ipv6_hdr*>(ip), &udp)
                              : rte_ipv4_udptcp_cksum(static_cast<const rte_ipv4_hdr*>(ip), &udp));
}

/// The checksums of IPv4 and UDP, where there are any, are right. The ICRC leaves out the fields that routers change. A
/// frame damaged there would be resent damaged from custody for ever, and RDMA-CM damaged there does not arrive. So the
/// checksums that the receiver verifies count too.
inline bool header_checksums_good(const wire::Frame& frame) {
  if (!wire::verify_ipv4_checksum(frame)) return false;
  const auto& udp = *reinterpret_cast<const wire::UdpHeader*>(frame.data + frame.udp_offset);
  return udp.checksum == 0 /* as RoCEv2 sends it */ || udp_checksum_good(frame, udp);
}

}  // namespace longhaul::flow
