// SPDX-License-Identifier: BSD-3-Clause
// The key of RC frames and CNPs: VLAN tags, source IP, destination IP, destination QPN.
#pragma once

#include <cstdint>

#include "base/side.hpp"
#include "flow/connection.hpp"
#include "flow/key_index.hpp"

namespace longhaul::flow {

/// Of a frame to QP `destination_qpn` between the addresses of `frame`, which the key refers to.
inline KeyIndex::KeyView key_of(const wire::Frame& frame, std::uint32_t destination_qpn) noexcept {
  return {frame.source, frame.destination, frame.vlan, destination_qpn};
}
inline KeyIndex::KeyView key_of(const wire::Frame& frame) noexcept { return key_of(frame, frame.destination_qpn()); }

/// Of a connection's frames that come in on `from`; the key refers to the addresses in `info`.
inline KeyIndex::KeyView key_of(const ConnectionInfo& info, Side from) noexcept {
  const End& near = info.end(from);
  const End& far = info.end(other(from));
  return {near.ip, far.ip, info.vlan, far.qpn};
}

}  // namespace longhaul::flow
