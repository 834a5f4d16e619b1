// SPDX-License-Identifier: BSD-3-Clause
// What stands between a NIC and the box: IOMMU, drivers, links, MTUs.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/doctor/checks.hpp"
#include "config/config_error.hpp"
#include "drivers/af_packet.hpp"
#include "drivers/mtu.hpp"
#include "drivers/roce_reach.hpp"

namespace longhaul::app {
namespace {

using drivers::Interface;
using drivers::Machine;
using drivers::Nic;

/// The configured ports or, without a configuration, all that DPDK has.
std::vector<std::string> ports_of(const Patient& patient) {
  std::vector<std::string> addresses = patient.pci_ports();
  if (patient.config == nullptr)
    for (const auto& [address, nic] : patient.machine.nics)
      if (drivers::gives_to_dpdk(nic.driver)) addresses.push_back(address);
  return addresses;
}

/// Whether a configured port needs VFIO or, without a configuration, a NIC that DPDK has.
bool needs_vfio(const Patient& patient) {
  if (!patient.uses_nics()) return false;
  const std::vector<std::string> addresses = ports_of(patient);
  const auto shares = [&](const std::string& address) {
    const auto nic = patient.machine.nics.find(address);
    return nic != patient.machine.nics.end() && drivers::shares_with_dpdk(nic->second.driver);
  };
  return addresses.empty() || !std::ranges::all_of(addresses, shares);
}

constexpr const char* kNoNeed = "no port of this box goes through VFIO";

std::vector<Finding> iommu(const Patient& patient) {
  const Machine& machine = patient.machine;
  const bool on = !machine.iommus.empty() && machine.iommu_groups > 0;
  if (on) return {{Level::ok, fmt::format("{} ({} groups)", fmt::join(machine.iommus, ", "), machine.iommu_groups)}};
  if (!needs_vfio(patient)) return {{Level::ok, std::string("off; ") + kNoNeed}};
  const std::string enable = fmt::format(
      "enable it in the firmware ({}), and put {}iommu=pt on the kernel command line (GRUB_CMDLINE_LINUX in "
      "/etc/default/grub, update-grub, reboot); in a virtual machine, give the guest a virtual IOMMU",
      machine.intel ? "VT-d" : "AMD-Vi, IOMMU", machine.intel ? "intel_iommu=on " : "");
  if (machine.vfio_no_iommu)
    return {{Level::warning,
             "off, but VFIO may run without it (enable_unsafe_noiommu_mode): a NIC can then write to any memory",
             enable}};
  return {{Level::error, "off",
           enable + "\non a machine without one: echo Y > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode "
                    "(unsafe: a NIC can then write to any memory)"}};
}

std::vector<Finding> vfio(const Patient& patient) {
  const Machine& machine = patient.machine;
  if (!needs_vfio(patient)) return {{Level::ok, kNoNeed}};
  if (machine.vfio_loaded) return {{Level::ok, "vfio-pci is loaded"}};
  if (machine.vfio_loadable)
    return {{Level::warning, "vfio-pci is not loaded",
             "modprobe vfio-pci, and for each boot: echo vfio-pci > /etc/modules-load.d/vfio-pci.conf (driverctl loads "
             "it on its own)"}};
  return {{Level::error, "this kernel has no vfio-pci",
           "install a kernel with CONFIG_VFIO_PCI (Debian: linux-image-amd64)"}};
}

std::vector<Finding> lockdown(const Patient& patient) {
  const Machine& machine = patient.machine;
  if (machine.lockdown.empty() || machine.lockdown == "none")
    return {{Level::ok, machine.lockdown.empty() ? "not in this kernel" : "none"}};
  const bool by_vfio = !needs_vfio(patient) || (!machine.iommus.empty() && machine.iommu_groups > 0);
  if (by_vfio) return {{Level::ok, machine.lockdown + ": vfio-pci behind an IOMMU is allowed"}};
  return {{Level::error, machine.lockdown + ": NICs can be handed over only behind an IOMMU",
           "enable an IOMMU (see above), or disable Secure Boot in the firmware"}};
}

std::string hand_over(const std::string& addresses) {
  return fmt::format(
      "driverctl set-override {0} vfio-pci (lasts across boots), or dpdk-devbind.py --bind=vfio-pci {0} (package dpdk; "
      "until the next boot)",
      addresses);
}

std::string kernel_side(const Machine& machine, const Nic& nic) {
  std::string text;
  for (const std::string& name : nic.interfaces) {
    const auto found = machine.interfaces.find(name);
    if (found == machine.interfaces.end()) continue;
    const Interface& interface = found->second;
    text += fmt::format(", {} with MTU {}, {}", name, interface.mtu,
                        !interface.up       ? "down"
                        : interface.carrier ? "has a link"
                                            : "has no link");
  }
  return text;
}

std::string described(const Machine& machine, const Nic& nic) {
  return fmt::format("{}: {}{}{}", nic.address, nic.driver.empty() ? "no driver" : nic.driver,
                     nic.node >= 0 ? fmt::format(", node {}", nic.node) : "", kernel_side(machine, nic));
}

Finding configured_nic(const Machine& machine, const std::string& address) {
  const auto found = machine.nics.find(address);
  if (found == machine.nics.end())
    return {Level::error, fmt::format("{}: the configuration names it, but there is no such NIC", address),
            "correct `ports` in the configuration: use the addresses that dpdk-devbind.py --status-dev net (or lspci "
            "-D) shows"};
  const Nic& nic = found->second;
  std::string seen = described(machine, nic);
  if (!drivers::gives_to_dpdk(nic.driver)) return {Level::error, std::move(seen), hand_over(address)};
  if (!drivers::shares_with_dpdk(nic.driver) && !nic.group_held_by.empty())
    return {Level::error,
            fmt::format("{}; its IOMMU group {} also contains {}", seen, nic.group, fmt::join(nic.group_held_by, ", ")),
            "VFIO hands over whole groups: bind the other devices to vfio-pci too, or move the NIC to another slot"};
  for (const std::string& name : nic.interfaces) {
    const auto interface = machine.interfaces.find(name);
    if (interface != machine.interfaces.end() && interface->second.up && !interface->second.carrier)
      return {Level::warning, std::move(seen),
              fmt::format("check cable, optics and the other end: ethtool {0}, ethtool -m {0}", name)};
  }
  return {Level::ok, std::move(seen)};
}

std::vector<Finding> nics(const Patient& patient) {
  const Machine& machine = patient.machine;
  std::vector<Finding> findings;
  if (patient.config != nullptr) {
    for (const std::string& address : patient.pci_ports()) findings.push_back(configured_nic(machine, address));
    return findings;
  }
  std::vector<std::string> others;
  std::size_t usable = 0;
  for (const auto& [address, nic] : machine.nics) {
    findings.push_back({Level::ok, described(machine, nic)});
    if (drivers::gives_to_dpdk(nic.driver))
      ++usable;
    else
      others.push_back(address);
  }
  if (usable < 2)
    findings.push_back(
        {Level::error,
         fmt::format("{} of {} ports have a driver that DPDK can use; a box needs two ports", usable,
                     machine.nics.size()),
         others.size() + usable < 2
             ? "install another NIC, or use kernel interfaces for a lab: ports: {host: {vdev: "
               "\"net_af_packet0,iface=...\"}}"
             : hand_over("ADDRESS") +
                   fmt::format("\nwith ADDRESS one of {}; do not take the NIC through which you reach this machine",
                               fmt::join(others, ", "))});
  return findings;
}

std::vector<Finding> pcie(const Patient& patient) {
  std::vector<Finding> findings;
  for (const std::string& address : ports_of(patient)) {
    const auto found = patient.machine.nics.find(address);
    if (found == patient.machine.nics.end() || found->second.link_width == 0) continue;
    const Nic& nic = found->second;
    const std::string seen = fmt::format("{}: {} x{}", address, nic.link_speed, nic.link_width);
    if (nic.link_speed == nic.link_speed_most && nic.link_width >= nic.link_width_most)
      findings.push_back({Level::ok, seen});
    else
      findings.push_back({Level::warning,
                          fmt::format("{}; it is capable of {} x{}", seen, nic.link_speed_most, nic.link_width_most),
                          "use a slot with all lanes of that generation (lspci -vv: LnkCap, LnkSta), and check the "
                          "slot speed in the firmware"});
  }
  return findings;
}

std::optional<drivers::AfPacketArguments> kernel_port(const config::PortConfig& port) {
  try {
    return drivers::parse_af_packet(port.vdev);
  } catch (const std::runtime_error&) {
    return std::nullopt;  // loading the configuration has reported it
  }
}

std::vector<Finding> interfaces(const Patient& patient) {
  if (patient.config == nullptr) return {};
  std::vector<Finding> findings;
  for (const config::PortConfig* port : {&patient.config->host, &patient.config->wan}) {
    const auto packet = kernel_port(*port);
    if (!packet) continue;
    const std::string& name = packet->interface;
    const auto found = patient.machine.interfaces.find(name);
    if (found == patient.machine.interfaces.end())
      findings.push_back({Level::error,
                          fmt::format("{}: the configuration names it, but there is no such interface", name),
                          "correct `ports` in the configuration: use interfaces that ip link shows"});
    else if (!found->second.up)
      findings.push_back({Level::error, fmt::format("{} is down", name), fmt::format("ip link set dev {} up", name)});
    else if (!found->second.carrier)
      findings.push_back(
          {Level::warning, fmt::format("{} has no link", name), "check the cable, or the other end of the veth pair"});
    else
      findings.push_back({Level::ok, fmt::format("{}: MTU {}, has a link", name, found->second.mtu)});
  }
  return findings;
}

// What the ports will say of themselves when they are open (drivers/ethdev_port.cpp), as far as the kernel knows it.
drivers::MtuCapacity capacity(const Machine& machine, const config::PortConfig& port, const char* label) {
  drivers::MtuCapacity out{fmt::format("{} ({})", label, port.device()), UINT16_MAX, false,
                           "use a NIC that supports it"};
  const auto packet = kernel_port(port);
  if (!packet) return out;
  out.port = fmt::format("{} ({})", label, packet->interface);
  const auto found = machine.interfaces.find(packet->interface);
  if (found == machine.interfaces.end()) return out;
  const std::uint32_t slot = packet->largest_received();
  const std::uint32_t ring = slot > drivers::kFrameOverhead ? slot - drivers::kFrameOverhead : 0;
  out.mtu = std::min(found->second.mtu, ring);
  out.fixed = true;
  out.remedy = ring < found->second.mtu ? "a larger framesz= in its vdev string"
                                        : fmt::format("ip link set dev {} mtu N", packet->interface);
  return out;
}

std::vector<Finding> mtu(const Patient& patient) {
  if (patient.config == nullptr) return {};
  const config::BoxConfig& config = *patient.config;
  try {
    const std::uint32_t agreed =
        drivers::agree_on_mtu(capacity(patient.machine, config.host, "host"),
                              capacity(patient.machine, config.wan, "wan"), config.process.mtu);
    config::check_frames_arrive(config, agreed);
    return {{Level::ok, fmt::format("both ports should carry {} bytes; only opening them can confirm it", agreed)}};
  } catch (const std::runtime_error& error) {
    const std::string_view text = error.what();
    const std::size_t semicolon = text.find("; ");
    if (semicolon == std::string_view::npos)
      return {{Level::error, std::string(text), "change mtu in the configuration, or the MTU of the ports"}};
    return {{Level::error, std::string(text.substr(0, semicolon)), std::string(text.substr(semicolon + 2))}};
  }
}

/// What the kernel does not show of a NIC, and how a person sees it. docs/operate/nics.md has the sources.
struct Unseen {
  bool (*is)(const Nic&);
  std::string_view look;
};

constexpr Unseen kUnseen[] = {
    {[](const Nic& nic) { return nic.model.starts_with("0x15b3:"); },
     "mlxconfig -d {} query | grep -i -e LLDP -e DCBX; mlnx_qos -i NETDEV"},
    {drivers::is_e810, "ethtool --show-priv-flags NETDEV, before {} is bound to vfio-pci: fw-lldp-agent must be off"},
    {drivers::is_x710, "ethtool --show-priv-flags NETDEV, before {} is bound to vfio-pci: disable-fw-lldp must be on"},
    {[](const Nic& nic) { return nic.model.starts_with("0x14e4:"); },
     "niccli, before {} is bound to vfio-pci; and ask the neighbours (lldpcli show neighbors)"},
};

/// What must be set on a NIC itself (docs/operate/nics.md), as far as the kernel shows it.
std::vector<Finding> nic_settings(const Patient& patient) {
  std::vector<Finding> findings;
  for (const std::string& address : ports_of(patient)) {
    const auto found = patient.machine.nics.find(address);
    if (found == patient.machine.nics.end()) continue;
    const Nic& nic = found->second;
    if (auto obstacle = drivers::roce_obstacle(patient.machine, nic))
      findings.push_back({Level::warning, std::move(obstacle->seen), std::move(obstacle->mend)});
    if (drivers::is_e810(nic) && !patient.machine.ice_package)
      findings.push_back({Level::error, fmt::format("{}: an E810, but its DDP package is missing", address),
                          "put ice.pkg of the linux-firmware repository into /lib/firmware/intel/ice/ddp"});
    const auto* const unseen = std::ranges::find_if(kUnseen, [&](const Unseen& one) { return one.is(nic); });
    if (unseen != std::end(kUnseen) && nic.physical_function.empty())
      findings.push_back(
          {Level::ok, fmt::format("{}: whether its firmware takes LLDP cannot be seen from here; by hand: ", address) +
                          fmt::format(fmt::runtime(unseen->look), address)});
    if (nic.physical_function.empty()) continue;
    if (patient.config != nullptr && patient.config->link_loss == config::LinkLoss::forward)
      findings.push_back(
          {Level::warning,
           fmt::format("{}: a virtual function cannot take down the link, which link_loss: forward asks", address),
           "use the physical function, or leave link_loss out"});
    findings.push_back({Level::ok, fmt::format("{}: a virtual function of {}, which must trust it and let it be truly "
                                               "promiscuous (docs/operate/nics.md)",
                                               address, nic.physical_function)});
  }
  return findings;
}

constexpr Check kNicChecks[] = {
    {"iommu", "VFIO hands over a NIC only behind an IOMMU, which confines the NIC to the box's own memory", iommu},
    {"vfio", "this driver hands a NIC over to DPDK (ConnectX and mana do not need it)", vfio},
    {"lockdown", "with Secure Boot the kernel denies programs access to hardware without an IOMMU", lockdown},
    {"nics", "a box takes two ports away from the kernel (ConnectX and mana keep their kernel driver)", nics},
    {"nic-settings", "RoCE, LLDP and link must go where a box expects them (docs/operate/nics.md)", nic_settings},
    {"pcie", "a slot with fewer lanes or of an older generation carries less than the port", pcie},
    {"interfaces", "net_af_packet ports are network interfaces of the kernel", interfaces},
    {"mtu", "each port must be able to send what the other receives", mtu},
};

}  // namespace

std::span<const Check> nic_checks() { return kNicChecks; }

}  // namespace longhaul::app
