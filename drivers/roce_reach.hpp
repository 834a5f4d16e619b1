// SPDX-License-Identifier: BSD-3-Clause
// Whether RoCE reaches a port that DPDK gets. docs/operate/nics.md has the sources.
#pragma once

#include <optional>
#include <string>

#include "drivers/machine.hpp"

namespace longhaul::drivers {

/// What may keep RoCE frames from a port.
struct RoceObstacle {
  std::string seen;  ///< one line
  std::string mend;  ///< commands, one a line
};

/// Nothing when the kernel shows none: an RDMA device with RoCE on the NIC itself, where its kernel driver stays beside
/// DPDK, or on the physical function of a virtual one.
std::optional<RoceObstacle> roce_obstacle(const Machine& machine, const Nic& nic);

}  // namespace longhaul::drivers
