// SPDX-License-Identifier: BSD-3-Clause
// What `longhaul doctor` looks at: a table of checks, each of which says what it saw, why that matters and what mends
// it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/box_config.hpp"
#include "drivers/machine.hpp"

namespace longhaul::app {

/// error: a box does not start, or does not what it says. warning: it works, slower or less predictably.
enum class Level { ok, warning, error };
std::string_view name_of(Level level);

/// Who is looked at.
struct Patient {
  const drivers::Machine& machine;
  const config::BoxConfig* config = nullptr;  ///< null: judged as for a box with two NICs, hugepages and idle: poll
  std::string root;                           ///< before /sys, for tests

  bool uses_nics() const;
  bool uses_hugepages() const { return config == nullptr || config->process.hugepages; }
  bool polls() const { return config == nullptr || !config->process.sleep_when_idle; }
  /// Processors that the configuration gives to workers.
  std::set<unsigned> cores() const;
  /// Those that matter for a worker's speed: cores(), else the isolated ones, else all.
  std::set<unsigned> worker_processors() const;
  /// PCI addresses of the configured ports.
  std::vector<std::string> pci_ports() const;
};

/// What a check found. Where it found nothing to say, there is no finding.
struct Finding {
  Level level = Level::ok;
  std::string seen{};  ///< one line
  std::string mend{};  ///< commands, or what to change, a line each; empty when all is well
};

struct Check {
  std::string_view name;
  std::string_view why;  ///< it matters
  std::vector<Finding> (*look)(const Patient&);
};

/// In the order in which they are told.
std::span<const Check> memory_checks();
std::span<const Check> processor_checks();
std::span<const Check> nic_checks();

}  // namespace longhaul::app
