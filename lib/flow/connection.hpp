// SPDX-License-Identifier: BSD-3-Clause
// What is known of an RC connection: its two ends, one on each side of the box.
#pragma once

#include <cstdint>
#include <optional>

#include "base/side.hpp"
#include "base/time.hpp"
#include "wire/cm.hpp"
#include "wire/frame.hpp"
#include "wire/udp_source_port.hpp"

namespace longhaul::flow {

struct End {
  wire::IpAddress ip;
  std::uint32_t qpn = 0;
  std::uint32_t starting_psn = 0;  ///< PSN of this end's first request
};

/// What the REQ of a connection offered beyond the specification, and what the REP accepted.
struct EceExchange {
  wire::Ece offered;
  wire::Ece accepted;
};

/// A connection as RDMA-CM agreed on it. `ends[Side::host]` is the end behind the host port.
struct ConnectionInfo {
  BySide<End> ends;
  wire::VlanKey vlan;
  std::uint32_t path_mtu = 0;  ///< bytes
  std::uint8_t retry_count = 0;
  Duration ack_timeout = 0;        ///< local ACK timeout of the primary path; 0 when the host set none
  std::optional<EceExchange> ece;  ///< nothing when no RDMA-CM was seen

  const End& end(Side side) const { return ends[side]; }
  End& end(Side side) { return ends[side]; }
};

/// The UDP source port of its frames where hosts derive it from both QPNs; in host byte order.
inline std::uint16_t derived_port_of(const ConnectionInfo& info) {
  return wire::derived_udp_source_port(info.end(Side::host).qpn, info.end(Side::wan).qpn);
}

}  // namespace longhaul::flow
