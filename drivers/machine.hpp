// SPDX-License-Identifier: BSD-3-Clause
// What this machine is, as far as a box cares: processors, NICs, IOMMU, limits. Facts only; app/doctor judges them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/system_memory.hpp"

namespace longhaul::drivers {

/// A state that an idle processor may sleep in.
struct IdleState {
  std::string name;
  std::int64_t exit_us = 0;  ///< microseconds until it runs again
  bool enabled = true;
};

/// A processor as the kernel numbers them: a hardware thread.
struct Processor {
  int node = 0;                 ///< NUMA
  std::set<unsigned> siblings;  ///< threads of the same core, itself included
  std::string governor;         ///< empty where the kernel does not choose frequencies
  std::vector<IdleState> idle_states;
};

/// A PCI device of class network.
struct Nic {
  std::string address;  ///< "0000:01:00.0"
  std::string driver;   ///< the bound one; empty: none
  int node = -1;        ///< NUMA; -1: the kernel does not say
  std::string group;    ///< of the IOMMU; empty: none
  /// Devices of the same group that a kernel driver holds, so that VFIO gives out no device of the group.
  std::vector<std::string> group_held_by;
  std::string link_speed, link_speed_most;  ///< of PCIe: "16.0 GT/s PCIe"
  std::int64_t link_width = 0, link_width_most = 0;
  std::vector<std::string> interfaces;  ///< of the kernel
  std::string model;                    ///< vendor and device of PCI: "0x8086:0x1592"
  std::string physical_function;        ///< its address, when this is a virtual function; else empty
  bool has_gids = false;                ///< its RDMA device has a table of GIDs: it takes in RoCE itself
};

/// A network interface of the kernel.
struct Interface {
  std::uint32_t mtu = 0;
  bool up = false;       ///< set up by an administrator
  bool carrier = false;  ///< it has a link; false also while it is not up
};

struct Machine {
  std::map<unsigned, Processor> processors;  ///< those that are online
  std::set<unsigned> isolated;               ///< kept free of other processes (isolcpus=)
  std::set<std::string> processor_flags;     ///< as in /proc/cpuinfo
  bool intel = false;

  std::string clocksource;
  std::vector<std::string> clocksources;  ///< those that could be chosen

  SystemMemory memory;
  std::map<int, SystemMemory> node_memory;   ///< hugepages by NUMA node
  std::vector<std::string> hugepage_mounts;  ///< directories

  std::map<std::string, Nic> nics;              ///< by PCI address
  std::map<std::string, Interface> interfaces;  ///< by name
  bool ice_package = false;                     ///< the file that an E810 needs (DDP) is there
  std::vector<std::string> iommus;
  std::size_t iommu_groups = 0;
  bool vfio_loaded = false;    ///< the driver vfio-pci is there
  bool vfio_loadable = false;  ///< this kernel's modules have it
  bool vfio_no_iommu = false;  ///< enable_unsafe_noiommu_mode

  std::optional<std::uint64_t> lock_limit_bytes;  ///< memory that may be locked; nothing: no limit
  bool may_lock_all = false;                      ///< CAP_IPC_LOCK
  std::optional<std::int64_t> wakeup_us;          ///< the limit that /dev/cpu_dma_latency is held at; nothing: none
  std::string lockdown;                           ///< "none", "integrity", "confidentiality"; empty: not in this kernel

  /// Reads /proc, /sys, /dev and /lib/modules; `root` is put before each path, for tests.
  static Machine read(const std::string& root = "");
};

/// Whether DPDK can use a device with this kernel driver, which hands the device over or shares it.
bool gives_to_dpdk(const std::string& driver);
/// Whether it is a physical function of an E810.
bool is_e810(const Nic& nic);
/// Of an X710, XL710 or XXV710.
bool is_x710(const Nic& nic);
/// Whether DPDK uses the device beside this kernel driver (mlx5), without VFIO and its IOMMU.
bool shares_with_dpdk(const std::string& driver);

}  // namespace longhaul::drivers
