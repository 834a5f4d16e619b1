// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/flow_control.hpp"

#include <rte_ethdev.h>

namespace longhaul::drivers {

static_assert(static_cast<int>(FlowControl::off) == RTE_ETH_FC_NONE);
static_assert(static_cast<int>(FlowControl::rx) == RTE_ETH_FC_RX_PAUSE);
static_assert(static_cast<int>(FlowControl::tx) == RTE_ETH_FC_TX_PAUSE);
static_assert(static_cast<int>(FlowControl::full) == RTE_ETH_FC_FULL);

int set_flow_control(std::uint16_t port, FlowControl mode) {
  // Thresholds and pause times stay as the driver has them: their right values differ between NICs. A driver that
  // cannot tell them may still be able to set the mode.
  rte_eth_fc_conf conf{};
  if (rte_eth_dev_flow_ctrl_get(port, &conf) != 0) conf = {};
  conf.mode = static_cast<rte_eth_fc_mode>(mode);
  return rte_eth_dev_flow_ctrl_set(port, &conf);
}

}  // namespace longhaul::drivers
