// SPDX-License-Identifier: BSD-3-Clause
#include "plan/nic/formats.hpp"

namespace longhaul::plan::nic {
namespace {

constexpr Format kFormats[] = {
    {Kind::mlxconfig, "mlxconfig query", "mlxconfig -d DEVICE -e query",
     "LOG_MAX_OUTSTANDING_WQE: work requests in flight per QP", true, open_mlxconfig},
    {Kind::devinfo, "ibv_devinfo -v", "ibv_devinfo -v", "port state and rate, path MTU, outstanding READs, queue depth",
     true, open_devinfo},
    {Kind::rings, "ethtool -g", "ethtool -g INTERFACE", "Ethernet rings (which are not RDMA depth)", false, open_rings},
    {Kind::pause, "ethtool -a", "ethtool -a INTERFACE", "pause frames", true, open_pause},
    {Kind::speed, "ethtool INTERFACE", "ethtool INTERFACE", "rate of the Ethernet link", false, open_speed},
    {Kind::nic_statistics, "ethtool -S", "ethtool -S INTERFACE", "frames dropped or damaged at the port", false,
     open_nic_statistics},
    {Kind::rdma_link, "rdma link", "rdma link", "interface of each RDMA device", false, open_rdma_link},
    {Kind::rdma_statistic, "rdma statistic", "rdma statistic show",
     "losses, resends and congestion that really happened", true, open_rdma_statistic},
    {Kind::rdma_statistic, "rdma -j statistic", "rdma -j statistic show", "the same", false, open_rdma_json},
    {Kind::rdma_statistic, "hw_counters", "grep '' /sys/class/infiniband/DEVICE/ports/1/hw_counters/*", "the same",
     false, open_hw_counters},
    {Kind::roce_accl, "mlxreg ROCE_ACCL", "mlxreg -d DEVICE --reg_name ROCE_ACCL --get",
     "adaptive retransmission, slow restart, transmit window", true, open_roce_accl},
    {Kind::interface, "ip link", "ip link show INTERFACE", "Ethernet MTU", true, open_interface},
    {Kind::pfc, "mlnx_qos", "mlnx_qos -i INTERFACE", "priority flow control", false, open_pfc},
    {Kind::pcie, "lspci -vv", "lspci -s ADDRESS -vv", "lanes and generation of the slot", false, open_pcie},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format& format_of(Kind kind) {
  for (const Format& format : kFormats)
    if (format.kind == kind) return format;
  return kFormats[0];
}

}  // namespace longhaul::plan::nic
