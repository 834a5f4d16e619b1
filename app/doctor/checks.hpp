// SPDX-License-Identifier: BSD-3-Clause
// What `longhaul doctor` looks at: a table of checks. Each one says what it saw, why that matters and what fixes it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/box_config.hpp"
#include "drivers/machine.hpp"

namespace longhaul::app {

/// error: a box does not start, or does not do what it says. warning: it works, but is slower or less predictable.
enum class Level { ok, warning, error };
std::string_view name_of(Level level);

/// The machine that is looked at.
struct Patient {
  const drivers::Machine& machine;
  const config::BoxConfig* config = nullptr;  ///< null: judged as for a box with two NICs, hugepages and idle: poll
  std::string root;                           ///< a prefix for /sys, for tests

  bool uses_nics() const;
  bool uses_hugepages() const { return config == nullptr || config->process.hugepages; }
  bool polls() const { return config == nullptr || !config->process.sleep_when_idle; }
  /// Processors that the configuration gives to workers.
  std::set<unsigned> cores() const;
  /// The processors that matter for a worker's speed: cores(), else the isolated ones, else all.
  std::set<unsigned> worker_processors() const;
  /// PCI addresses of the configured ports.
  std::vector<std::string> pci_ports() const;
};

/// What a check found. A check that has nothing to say has no finding.
struct Finding {
  Level level = Level::ok;
  std::string seen{};  ///< one line
  std::string mend{};  ///< commands, or what to change, one per line; empty when all is well
};

struct Check {
  std::string_view name;
  std::string_view why;  ///< why it matters
  std::vector<Finding> (*look)(const Patient&);
};

/// In the order of the output.
std::span<const Check> memory_checks();
std::span<const Check> processor_checks();
std::span<const Check> nic_checks();

}  // namespace longhaul::app
