// SPDX-License-Identifier: BSD-3-Clause
#include "app/doctor/checks.hpp"

namespace longhaul::app {

std::string_view name_of(Level level) {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::warning:
      return "warning";
    case Level::error:
      break;
  }
  return "error";
}

bool Patient::uses_nics() const { return config == nullptr || !pci_ports().empty(); }

std::set<unsigned> Patient::cores() const {
  std::set<unsigned> cores;
  if (config == nullptr || !config->process.core) return cores;
  cores.insert(*config->process.core);
  cores.insert(config->process.more_cores.begin(), config->process.more_cores.end());
  return cores;
}

std::set<unsigned> Patient::worker_processors() const {
  std::set<unsigned> found = cores();
  if (found.empty()) found = machine.isolated;
  if (found.empty())
    for (const auto& [number, processor] : machine.processors) found.insert(number);
  return found;
}

std::vector<std::string> Patient::pci_ports() const {
  std::vector<std::string> addresses;
  if (config == nullptr) return addresses;
  for (const config::PortConfig* port : {&config->host, &config->wan})
    if (!port->pci.empty()) addresses.push_back(port->pci);
  return addresses;
}

}  // namespace longhaul::app
