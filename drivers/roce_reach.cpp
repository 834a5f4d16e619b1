// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce_reach.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace longhaul::drivers {
namespace {

/// How RoCE is switched off where `driver` of the kernel has the device.
struct Switch {
  std::string_view driver;
  std::string_view rdma;  ///< the driver that takes RoCE in
  std::string_view off;   ///< {}: the PCI address
};

constexpr Switch kSwitches[] = {
    {"mlx5_core", "mlx5_ib",
     "devlink dev param set pci/{0} name enable_roce value false cmode driverinit\ndevlink dev reload pci/{0}"},
    {"ice", "irdma",
     "devlink dev param set pci/{0} name enable_roce value false cmode runtime\n"
     "where the driver has no such parameter: modprobe -r irdma, and echo blacklist irdma > "
     "/etc/modprobe.d/longhaul-rdma.conf"},
    {"bnxt_en", "bnxt_re",
     "modprobe -r bnxt_re, and echo blacklist bnxt_re > /etc/modprobe.d/longhaul-rdma.conf (all RDMA of {0} ends)"},
    {"mana", "mana_ib",
     "modprobe -r mana_ib, and echo blacklist mana_ib > /etc/modprobe.d/longhaul-rdma.conf (all RDMA of {0} ends)"},
};

std::string off(const Nic& taker) {
  const auto* const known =
      std::ranges::find_if(kSwitches, [&](const Switch& one) { return one.driver == taker.driver; });
  if (known == std::end(kSwitches))
    return fmt::format("unload the RDMA driver of {} (rdma link shows its device)", taker.address);
  return fmt::format(fmt::runtime(known->off), taker.address);
}

std::string_view rdma_of(const Nic& taker) {
  const auto* const known =
      std::ranges::find_if(kSwitches, [&](const Switch& one) { return one.driver == taker.driver; });
  return known == std::end(kSwitches) ? "its RDMA driver" : known->rdma;
}

}  // namespace

std::optional<RoceObstacle> roce_obstacle(const Machine& machine, const Nic& nic) {
  if (shares_with_dpdk(nic.driver) && nic.has_gids)
    return RoceObstacle{fmt::format("{}: RoCE is on ({}): the NIC itself may take RoCE frames, and the box sees none",
                                    nic.address, rdma_of(nic)),
                        off(nic)};
  const auto owner = machine.nics.find(nic.physical_function);
  if (owner != machine.nics.end() && owner->second.has_gids)
    return RoceObstacle{
        fmt::format("{}: RoCE is on at its physical function {} ({}), which may take RoCE frames from it", nic.address,
                    owner->first, rdma_of(owner->second)),
        off(owner->second)};
  return std::nullopt;
}

}  // namespace longhaul::drivers
