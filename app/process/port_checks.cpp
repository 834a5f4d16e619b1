// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/port_checks.hpp"

#include <net/if.h>

#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "config/config_error.hpp"
#include "drivers/af_packet.hpp"

namespace longhaul::app {

void check_arguments(const config::PortConfig& port, unsigned workers) {
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

void check_presence(const config::PortConfig& port) {
  namespace fs = std::filesystem;
  if (!port.pci.empty() && !fs::exists(fs::path("/sys/bus/pci/devices") / port.pci))
    throw config::ConfigError(fmt::format(
        "{}: expected the PCI address of a NIC of this machine, got \"{}\" (dpdk-devbind.py --status-dev net "
        "lists them)",
        port.position, port.pci));
  const auto packet = drivers::parse_af_packet(port.vdev);
  if (packet && if_nametoindex(packet->interface.c_str()) == 0)
    throw config::ConfigError(
        fmt::format("{}: expected iface= to name a network interface of this machine, got \"{}\" (ip link lists them)",
                    port.position, packet->interface));
}

}  // namespace longhaul::app
