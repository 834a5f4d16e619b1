// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/port_checks.hpp"

#include <net/if.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/suggestion.hpp"
#include "config/config_error.hpp"
#include "drivers/af_packet.hpp"
#include "drivers/interface.hpp"
#include "drivers/roce_reach.hpp"
#include "drivers/vdev.hpp"

namespace longhaul::app {

namespace {

void check_argument(const config::PortConfig& port, unsigned workers) {
  if (port.vdev.empty()) return;
  if (const std::string mistake = drivers::vdev_mistake(port.vdev); !mistake.empty())
    throw config::ConfigError(fmt::format("{}: {}", port.position, mistake));
  try {
    const auto packet = drivers::parse_af_packet(port.vdev);
    // The kernel spreads frames over all queues. Those of a queue without a worker would be lost.
    if (packet && packet->queue_pairs != workers)
      throw std::runtime_error(fmt::format("\"{}\": {} worker{} (cores) need{} qpairs={}, one pair of queues for each",
                                           port.vdev, workers, workers == 1 ? "" : "s", workers == 1 ? "s" : "",
                                           workers));
  } catch (const std::runtime_error& error) {
    throw config::ConfigError(fmt::format("{}: {}", port.position, error.what()));
  }
}

}  // namespace

void check_arguments(const config::PortConfig& first, const config::PortConfig& second, unsigned workers) {
  check_argument(first, workers);
  check_argument(second, workers);
  const std::string_view interface = drivers::vdev_argument(first.vdev, "iface");
  if (!interface.empty() && interface == drivers::vdev_argument(second.vdev, "iface"))
    throw config::ConfigError(
        fmt::format("{}: the interface {} already belongs to the other port: a box forwards between two",
                    second.position, interface));
}

std::vector<std::string> roce_warnings(const config::PortConfig& first, const config::PortConfig& second,
                                       const std::string& root) {
  std::vector<std::string> out;
  if (first.pci.empty() && second.pci.empty()) return out;
  const drivers::Machine machine = drivers::Machine::read(root);
  for (const config::PortConfig* port : {&first, &second}) {
    const auto nic = machine.nics.find(port->pci);
    if (nic == machine.nics.end()) continue;
    if (const auto obstacle = drivers::roce_obstacle(machine, nic->second))
      out.push_back(fmt::format("{}: {}; to change that:\n{}", port->position, obstacle->seen, obstacle->mend));
  }
  return out;
}

void check_presence(const config::PortConfig& port) {
  namespace fs = std::filesystem;
  if (!port.pci.empty() && !fs::exists(fs::path("/sys/bus/pci/devices") / port.pci))
    throw config::ConfigError(fmt::format(
        "{}: expected the PCI address of a NIC of this machine, got \"{}\" (dpdk-devbind.py --status-dev net "
        "lists them)",
        port.position, port.pci));
  const auto packet = drivers::parse_af_packet(port.vdev);
  if (!packet || if_nametoindex(packet->interface.c_str()) != 0) return;
  const std::vector<std::string> names = drivers::interface_names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw config::ConfigError(
      fmt::format("{}: expected iface= to name a network interface of this machine, got \"{}\"{} (ip link lists them)",
                  port.position, packet->interface, did_you_mean(packet->interface, known)));
}

}  // namespace longhaul::app
