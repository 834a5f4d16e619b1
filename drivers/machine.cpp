// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/machine.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "drivers/sysfs.hpp"

namespace longhaul::drivers {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kHandOver = {"vfio-pci", "uio_pci_generic", "igb_uio"};
/// PCI device IDs of physical functions (Linux and DPDK: ice_devids.h).
constexpr std::array<std::string_view, 6> kE810 = {"0x8086:0x1591", "0x8086:0x1592", "0x8086:0x1593",
                                                   "0x8086:0x1599", "0x8086:0x159a", "0x8086:0x159b"};
// drivers/net/i40e/base/i40e_devids.h of DPDK, without those of X722.
constexpr std::array<std::string_view, 17> kX710 = {
    "0x8086:0x0cf8", "0x8086:0x0d58", "0x8086:0x104e", "0x8086:0x104f", "0x8086:0x1572", "0x8086:0x1580",
    "0x8086:0x1581", "0x8086:0x1583", "0x8086:0x1584", "0x8086:0x1585", "0x8086:0x1586", "0x8086:0x1587",
    "0x8086:0x1588", "0x8086:0x1589", "0x8086:0x158a", "0x8086:0x158b", "0x8086:0x15ff"};
constexpr std::array<std::string_view, 3> kShare = {"mlx5_core", "mlx4_core", "mana"};

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

std::vector<IdleState> idle_states(const fs::path& directory) {
  std::vector<IdleState> states;
  for (const std::string& name : names_in(directory)) {
    if (!name.starts_with("state")) continue;
    states.push_back({text_in(directory / name / "name"), number_in(directory / name / "latency").value_or(0),
                      number_in(directory / name / "disable").value_or(0) == 0});
  }
  return states;
}

void read_processors(const std::string& root, Machine& out) {
  const fs::path all = root + "/sys/devices/system/cpu";
  for (const unsigned number : processors_of(text_in(all / "online"))) {
    const fs::path at = all / ("cpu" + std::to_string(number));
    Processor processor;
    processor.node = node_of_processor(number, root);
    processor.siblings = processors_of(text_in(at / "topology/thread_siblings_list"));
    processor.siblings.insert(number);
    processor.governor = text_in(at / "cpufreq/scaling_governor");
    processor.idle_states = idle_states(at / "cpuidle");
    out.processors.emplace(number, std::move(processor));
  }
  out.isolated = processors_of(text_in(all / "isolated"));
  const fs::path cpuinfo = root + "/proc/cpuinfo";
  for (std::string& flag : words_of(value_in(cpuinfo, "flags"))) out.processor_flags.insert(std::move(flag));
  out.intel = value_in(cpuinfo, "vendor_id") == "GenuineIntel";
}

void read_clock(const std::string& root, Machine& out) {
  const fs::path at = root + "/sys/devices/system/clocksource/clocksource0";
  out.clocksource = text_in(at / "current_clocksource");
  out.clocksources = words_of(text_in(at / "available_clocksource"));
}

void read_memory(const std::string& root, Machine& out) {
  out.memory = SystemMemory::read(root);
  for (const std::string& name : names_in(root + "/sys/devices/system/node")) {
    int node = 0;
    const char* digits = name.data() + std::min<std::size_t>(name.size(), 4);
    if (!name.starts_with("node") || std::from_chars(digits, name.data() + name.size(), node).ec != std::errc{})
      continue;
    out.node_memory.emplace(node, SystemMemory::read_node(node, root));
  }
  std::ifstream mounts(root + "/proc/mounts");
  for (std::string line; std::getline(mounts, line);) {
    const std::vector<std::string> fields = words_of(line);
    if (fields.size() > 2 && fields[2] == "hugetlbfs") out.hugepage_mounts.push_back(fields[1]);
  }
}

// Virtio devices have their interfaces one level down.
std::vector<std::string> interfaces_of(const fs::path& device) {
  std::vector<std::string> found = names_in(device / "net");
  for (const std::string& name : names_in(device))
    if (name.starts_with("virtio"))
      for (std::string& interface : names_in(device / name / "net")) found.push_back(std::move(interface));
  return found;
}

// PCI bridges may stay with the kernel: VFIO knows that they are harmless.
std::vector<std::string> holders(const fs::path& group, const std::string& self) {
  std::vector<std::string> held;
  for (const std::string& other : names_in(group / "devices")) {
    if (other == self) continue;
    const std::string driver = linked_name(group / "devices" / other / "driver");
    if (!driver.empty() && driver != "vfio-pci" && driver != "pcieport" && driver != "pci-stub")
      held.push_back(other + " (" + driver + ")");
  }
  return held;
}

/// An RDMA device of Ethernet that does not take in RoCE has none.
bool has_gids(const fs::path& nic) {
  const auto devices = names_in(nic / "infiniband");
  return std::ranges::any_of(devices, [&](const std::string& device) {
    return !names_in(nic / "infiniband" / device / "ports" / "1" / "gids").empty();
  });
}

void read_packages(const std::string& root, Machine& out) {
  for (const char* at : {"/lib/firmware/updates/intel/ice/ddp", "/lib/firmware/intel/ice/ddp"})
    out.ice_package |= std::ranges::any_of(names_in(root + at), [](const std::string& name) {
      return name == "ice.pkg" || (name.starts_with("ice-") && name.ends_with(".pkg"));
    });
}

void read_nics(const std::string& root, Machine& out) {
  const fs::path all = root + "/sys/bus/pci/devices";
  for (const std::string& address : names_in(all)) {
    const fs::path at = all / address;
    if (!text_in(at / "class").starts_with("0x02")) continue;
    Nic nic;
    nic.address = address;
    nic.driver = linked_name(at / "driver");
    nic.node = static_cast<int>(number_in(at / "numa_node").value_or(-1));
    nic.group = linked_name(at / "iommu_group");
    if (!nic.group.empty()) nic.group_held_by = holders(at / "iommu_group", address);
    nic.link_speed = text_in(at / "current_link_speed");
    nic.link_speed_most = text_in(at / "max_link_speed");
    nic.link_width = number_in(at / "current_link_width").value_or(0);
    nic.link_width_most = number_in(at / "max_link_width").value_or(0);
    nic.interfaces = interfaces_of(at);
    nic.model = text_in(at / "vendor") + ":" + text_in(at / "device");
    nic.physical_function = linked_name(at / "physfn");
    nic.has_gids = has_gids(at);
    out.nics.emplace(address, std::move(nic));
  }
}

void read_interfaces(const std::string& root, Machine& out) {
  constexpr std::uint64_t kUp = 1;
  const fs::path all = root + "/sys/class/net";
  for (const std::string& name : names_in(all)) {
    if (!is_there(all / name / "mtu")) continue;  // bonding_masters
    Interface interface;
    interface.mtu = static_cast<std::uint32_t>(number_in(all / name / "mtu").value_or(0));
    const std::string flags = text_in(all / name / "flags");
    std::uint64_t bits = 0;
    if (flags.starts_with("0x")) std::from_chars(flags.data() + 2, flags.data() + flags.size(), bits, 16);
    interface.up = (bits & kUp) != 0;
    interface.carrier = number_in(all / name / "carrier").value_or(0) == 1;
    out.interfaces.emplace(name, interface);
  }
}

bool module_exists(const std::string& root, std::string_view module) {
  const fs::path modules = root + "/lib/modules/" + text_in(root + "/proc/sys/kernel/osrelease");
  for (const char* list : {"modules.dep", "modules.builtin"}) {
    std::ifstream in(modules / list);
    for (std::string line; std::getline(in, line);)
      if (line.substr(0, line.find(':')).find(module) != std::string::npos) return true;
  }
  return false;
}

void read_vfio(const std::string& root, Machine& out) {
  out.iommus = names_in(root + "/sys/class/iommu");
  out.iommu_groups = names_in(root + "/sys/kernel/iommu_groups").size();
  out.vfio_loaded = is_there(root + "/sys/bus/pci/drivers/vfio-pci");
  out.vfio_loadable = out.vfio_loaded || module_exists(root, "/vfio-pci.ko");
  out.vfio_no_iommu = text_in(root + "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode") == "Y";
}

std::optional<std::uint64_t> lock_limit(const std::string& root) {
  constexpr std::string_view kName = "Max locked memory";
  std::ifstream limits(root + "/proc/self/limits");
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with(kName)) continue;
    const std::vector<std::string> fields = words_of(std::string_view(line).substr(kName.size()));
    std::uint64_t bytes = 0;
    if (fields.empty() || fields[0] == "unlimited") return std::nullopt;
    std::from_chars(fields[0].data(), fields[0].data() + fields[0].size(), bytes);
    return bytes;
  }
  return std::nullopt;
}

void read_limits(const std::string& root, Machine& out) {
  constexpr unsigned kIpcLock = 14;  // CAP_IPC_LOCK
  out.lock_limit_bytes = lock_limit(root);
  const std::string effective = value_in(root + "/proc/self/status", "CapEff");
  std::uint64_t capabilities = 0;
  std::from_chars(effective.data(), effective.data() + effective.size(), capabilities, 16);
  out.may_lock_all = ((capabilities >> kIpcLock) & 1) != 0;
  // "none [integrity] confidentiality"
  for (const std::string& word : words_of(text_in(root + "/sys/kernel/security/lockdown")))
    if (word.starts_with('[')) out.lockdown = word.substr(1, word.size() - 2);
}

// Four bytes: the lowest latency that any process asks for. Reading asks for nothing.
void read_wakeup(const std::string& root, Machine& out) {
  constexpr std::int32_t kNobodyAsks = 2'000'000'000;
  std::int32_t microseconds = 0;
  std::ifstream in(root + "/dev/cpu_dma_latency", std::ios::binary);
  if (in.read(reinterpret_cast<char*>(&microseconds), sizeof microseconds) && microseconds < kNobodyAsks)
    out.wakeup_us = microseconds;
}

}  // namespace

Machine Machine::read(const std::string& root) {
  Machine machine;
  for (const auto part : {read_processors, read_clock, read_memory, read_nics, read_packages, read_interfaces,
                          read_vfio, read_limits, read_wakeup})
    part(root, machine);
  return machine;
}

bool is_e810(const Nic& nic) { return std::ranges::find(kE810, nic.model) != kE810.end(); }

bool is_x710(const Nic& nic) { return std::ranges::find(kX710, nic.model) != kX710.end(); }

bool shares_with_dpdk(const std::string& driver) { return std::ranges::find(kShare, driver) != kShare.end(); }

bool gives_to_dpdk(const std::string& driver) {
  return shares_with_dpdk(driver) || std::ranges::find(kHandOver, driver) != kHandOver.end();
}

}  // namespace longhaul::drivers
