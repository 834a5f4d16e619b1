// SPDX-License-Identifier: BSD-3-Clause
// Starting DPDK's environment (EAL). It can be started once in a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longhaul::drivers {

struct EalOptions {
  std::string program = "longhaul";  ///< argv[0] in DPDK's messages
  bool hugepages = true;             ///< false: ordinary memory, for labs
  std::uint64_t memory_bytes = 0;    ///< needed without hugepages; with them 0 means: grow as needed
  std::optional<unsigned> core;   ///< processor that the worker (the calling thread) is pinned to; absent: not pinned
  std::vector<unsigned> workers;  ///< processors of further workers, lcores 1, 2, ...; several may share one
  /// Other DPDK processes may attach under this name (--file-prefix). Needs hugepages, `memory_bytes` (all is taken at
  /// the start) and a mounted hugetlbfs. Empty: none may.
  std::string shared_as;
  /// DPDK's telemetry answers under this name (dpdk-telemetry.py -f NAME). Empty: there is no telemetry.
  std::string telemetry_as;
  std::string huge_dir;  ///< where hugetlbfs is mounted, if `shared_as` is to use that and no other
  /// PCI addresses of the NICs to use, each perhaps with ",DEVARGS" of its driver; none: PCI is not scanned.
  std::vector<std::string> pci;
};

/// DPDK's environment while this lives. The constructor throws std::runtime_error that says what to do when it cannot
/// start.
class Eal {
 public:
  explicit Eal(const EalOptions& options);
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  /// The command line for `options`, argv[0] included. For messages and tests.
  static std::vector<std::string> arguments(const EalOptions& options);
};

}  // namespace longhaul::drivers
