// SPDX-License-Identifier: BSD-3-Clause
// Whether this machine has the memory that DPDK will be asked for. DPDK itself says no more than "Cannot allocate
// memory".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longhaul::drivers {

/// Hugepages of one size.
struct Hugepages {
  std::uint64_t page_bytes = 0;
  std::uint64_t total = 0;  ///< pages reserved
  std::uint64_t free = 0;   ///< reserved pages that are not in use
};

struct SystemMemory {
  std::vector<Hugepages> hugepages;  ///< by size, smallest first; also sizes with no pages reserved
  std::uint64_t default_page_bytes = 0;
  std::uint64_t available_bytes = 0;  ///< ordinary memory that could be taken without swapping

  /// What the kernel says in /proc/meminfo and /sys/kernel/mm/hugepages; `root` is put before both, for tests.
  static SystemMemory read(const std::string& root = "");
  /// The same with the hugepages of one NUMA node only, and no ordinary memory.
  static SystemMemory read_node(int node, const std::string& root = "");

  std::uint64_t free_hugepage_bytes() const;
};

/// Empty when there are `needed` bytes; else how much is needed, how much there is, and the command that reserves it.
std::string shortage(const SystemMemory& memory, std::uint64_t needed, bool hugepages);

/// The command that reserves hugepages on a NUMA node, so that `needed` bytes are free there; empty when this kernel
/// has none. `memory` is that node's. The command reserves at least one page more, because the caller has found too
/// little.
std::string reservation_on_node(const SystemMemory& memory, int node, std::uint64_t needed);

/// NUMA node of a processor; 0 when the kernel does not say, as with DPDK.
int node_of_processor(unsigned processor, const std::string& root = "");

}  // namespace longhaul::drivers
