// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/vdev.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_build_config.h>

#include "base/suggestion.hpp"
#include "drivers/interface.hpp"

namespace longhaul::drivers {
namespace {

// Network drivers of DPDK 22.11 that make virtual devices (doc/guides/nics), each with its older name.
constexpr std::string_view kDrivers[] = {
    "net_af_packet", "net_af_xdp",  "net_bonding", "net_failsafe", "net_memif", "net_null",        "net_pcap",
    "net_ring",      "net_softnic", "net_tap",     "net_tun",      "net_vhost", "net_virtio_user", "net_vdev_netvsc"};
constexpr std::string_view kOlderNames[] = {"eth_af_packet", "eth_bond", "eth_null",  "eth_pcap",
                                            "eth_ring",      "eth_tap",  "eth_vhost", "virtio_user"};

// Arguments of net_af_packet (drivers/net/af_packet/rte_eth_af_packet.c).
constexpr std::string_view kPacketArguments[] = {"iface", "qpairs", "blocksz", "framesz", "framecnt", "qdisc_bypass"};

/// DPDK takes each name that begins with a driver's.
bool begins(std::string_view name, std::string_view driver) { return name.starts_with(driver); }

bool is_added(std::string_view name) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(RTE_EAL_PMD_PATH, error), end; !error && file != end;
       file.increment(error)) {
    const std::string plugin = file->path().filename().string();
    constexpr std::string_view kPrefix = "librte_";
    if (plugin.starts_with(kPrefix) && plugin.ends_with(".so") &&
        begins(name, std::string_view(plugin).substr(kPrefix.size(), plugin.size() - kPrefix.size() - 3)))
      return true;
  }
  return false;
}

bool is_known(std::string_view name) {
  const auto takes = [name](std::string_view driver) { return begins(name, driver); };
  return std::ranges::any_of(kDrivers, takes) || std::ranges::any_of(kOlderNames, takes) || is_added(name);
}

std::string name_mistake(std::string_view name) {
  if (is_known(name)) return "";
  const std::vector<std::string> interfaces = interface_names();
  if (std::ranges::find(interfaces, name) != interfaces.end())
    return fmt::format(
        "\"{}\" is a network interface, not a device of DPDK: for a lab, write net_af_packet0,iface={} (net_af_packet1 "
        "for the other port); for a NIC that DPDK drives, give pci",
        name, name);
  // The number behind a driver's name is not part of a mistake in it.
  const std::size_t end = name.find_last_not_of("0123456789") + 1;
  const std::string_view meant = nearest(name.substr(0, end), kDrivers);
  return fmt::format("DPDK has no virtual device called \"{}\"{} (there are {})", name,
                     meant.empty() ? "" : fmt::format("; did you mean \"{}{}\"?", meant, name.substr(end)),
                     fmt::join(kDrivers, ", "));
}

}  // namespace

std::string_view vdev_argument(std::string_view vdev, std::string_view key) {
  while (!vdev.empty()) {
    const std::string_view item = vdev.substr(0, vdev.find(','));
    vdev.remove_prefix(std::min(vdev.size(), item.size() + 1));
    if (item.starts_with(key) && item.size() > key.size() && item[key.size()] == '=')
      return item.substr(key.size() + 1);
  }
  return {};
}

std::string vdev_mistake(std::string_view vdev) {
  const std::string_view name = vdev.substr(0, vdev.find(','));
  if (std::string mistake = name_mistake(name); !mistake.empty()) return mistake;
  if (!begins(name, "net_af_packet") && !begins(name, "eth_af_packet")) return "";
  std::string_view rest = vdev.substr(name.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size());
    const std::string_view key = item.substr(0, item.find('='));
    if (std::ranges::find(kPacketArguments, key) == std::end(kPacketArguments))
      return fmt::format("net_af_packet has no argument \"{}\"{} (there are {})", key,
                         did_you_mean(key, kPacketArguments), fmt::join(kPacketArguments, ", "));
  }
  return "";
}

}  // namespace longhaul::drivers
