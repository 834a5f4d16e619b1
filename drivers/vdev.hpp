// SPDX-License-Identifier: BSD-3-Clause
// The virtual devices that DPDK can make. DPDK itself only says that it cannot, and late: after it has taken memory.
#pragma once

#include <string>
#include <string_view>

namespace longhaul::drivers {

/// What is wrong with the name or an argument of an EAL string such as "net_af_packet0,iface=eth1", and what was
/// probably meant. Empty: nothing, as far as is known before a driver is asked. Drivers that were added to DPDK's
/// directory (RTE_EAL_PMD_PATH) count as known.
std::string vdev_mistake(std::string_view vdev);

/// The value of an argument: "eth1" for "iface". Empty if it is not there.
std::string_view vdev_argument(std::string_view vdev, std::string_view key);

}  // namespace longhaul::drivers
