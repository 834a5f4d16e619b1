// SPDX-License-Identifier: BSD-3-Clause
// Whether a port sends and obeys 802.3x pause frames.
#pragma once

#include <cstdint>

namespace longhaul::drivers {

/// In the order of DPDK's rte_eth_fc_mode.
enum class FlowControl : std::uint8_t {
  off,
  rx,    ///< obeys pause frames
  tx,    ///< sends pause frames when its buffers fill up
  full,  ///< both
};

/// Sets it on a started port, whatever the NIC had before. Returns 0, or a negative errno: -ENOTSUP when the driver
/// has no way to do so.
int set_flow_control(std::uint16_t port, FlowControl mode);

}  // namespace longhaul::drivers
