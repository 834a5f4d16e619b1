// SPDX-License-Identifier: BSD-3-Clause
// Hugepages, ordinary memory, and how much of it may be locked.
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/box/memory_report.hpp"
#include "app/doctor/checks.hpp"
#include "drivers/system_memory.hpp"

namespace longhaul::app {
namespace {

using drivers::Hugepages;
using drivers::Machine;
using drivers::SystemMemory;

constexpr std::uint64_t kMiB = 1 << 20;

std::uint64_t mib(std::uint64_t bytes) { return (bytes + kMiB - 1) / kMiB; }

BoxMemory memory_of(const Patient& patient) {
  const config::BoxConfig& config = *patient.config;
  return {config, {"host", config.host.pci, config.host.vdev}, {"wan", config.wan.pci, config.wan.vdev}, patient.root};
}

std::string described(const Machine& machine) {
  std::vector<std::string> sizes;
  for (const Hugepages& of : machine.memory.hugepages) {
    if (of.total == 0) continue;
    std::string nodes;
    for (const auto& [node, memory] : machine.node_memory)
      for (const Hugepages& here : memory.hugepages)
        if (here.page_bytes == of.page_bytes)
          nodes += fmt::format(", {} of {} on node {}", here.free, here.total, node);
    sizes.push_back(fmt::format("pages of {} MiB: {} of {} are free{}", mib(of.page_bytes), of.free, of.total, nodes));
  }
  return sizes.empty() ? "none are reserved" : fmt::format("{}", fmt::join(sizes, "; "));
}

// At boot the kernel finds hugepages in one piece. Later it may not find any.
std::string keep_over_boots(std::uint64_t bytes) {
  return fmt::format(
      "and to reserve them at each boot: vm.nr_hugepages = {} in /etc/sysctl.d/longhaul.conf, or "
      "default_hugepagesz=1G hugepagesz=1G hugepages={} on the kernel command line",
      mib(bytes) / 2 + 1, mib(bytes) / 1024 + 1);
}

std::vector<Finding> hugepages(const Patient& patient) {
  const SystemMemory& memory = patient.machine.memory;
  const std::string seen = described(patient.machine);
  if (!patient.uses_hugepages()) return {{Level::ok, seen + "; this configuration uses ordinary memory"}};
  if (patient.config != nullptr) {
    const std::uint64_t needed = memory_of(patient).demand.at_start();
    const std::string missing = drivers::shortage(memory, needed, true);
    if (missing.empty()) return {{Level::ok, fmt::format("{}; this configuration needs {} MiB", seen, mib(needed))}};
    return {{Level::error, seen, missing + "\n" + keep_over_boots(needed)}};
  }
  constexpr std::uint64_t kSomething = 4ull << 30;
  if (memory.free_hugepage_bytes() > 0) return {{Level::ok, seen}};
  const bool reserved = seen.find(" are free") != std::string::npos;
  return {{reserved ? Level::warning : Level::error, seen,
           reserved ? "processes hold all of them, perhaps a running box: find them with grep -l hugepage "
                      "/proc/*/numa_maps. Reserve more for another box"
                    : fmt::format("{}\n{}\n(4 GiB is an example: longhaul doctor --config FILE or longhaul run "
                                  "--config FILE --check shows what your box needs)",
                                  drivers::shortage(memory, kSomething, true), keep_over_boots(kSomething))}};
}

std::vector<Finding> node_hugepages(const Patient& patient) {
  if (patient.config == nullptr || !patient.uses_hugepages()) return {};
  std::set<int> nodes;
  for (const unsigned core : patient.cores()) nodes.insert(drivers::node_of_processor(core, patient.root));
  if (patient.machine.node_memory.size() < 2 || nodes.empty()) return {};
  const BoxMemory box = memory_of(patient);
  const std::uint64_t needed = engine::Pools::bytes_needed(box.pools);
  std::vector<Finding> findings;
  for (const int node : nodes) {
    const auto there = patient.machine.node_memory.find(node);
    if (there == patient.machine.node_memory.end()) continue;
    const std::uint64_t free = there->second.free_hugepage_bytes();
    const std::string seen = fmt::format("node {}, where workers run: pools of {} MiB, {} MiB of hugepages free", node,
                                         mib(needed), mib(free));
    if (free >= needed)
      findings.push_back({Level::ok, seen});
    else
      findings.push_back({Level::warning, seen, drivers::reservation_on_node(there->second, node, needed)});
  }
  return findings;
}

std::vector<Finding> hugepage_mount(const Patient& patient) {
  if (!patient.uses_hugepages()) return {};
  if (!patient.machine.hugepage_mounts.empty())
    return {{Level::ok, fmt::format("hugetlbfs is mounted at {}", fmt::join(patient.machine.hugepage_mounts, ", "))}};
  return {{Level::warning, "hugetlbfs is not mounted",
           "mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages (systemd: systemctl start "
           "dev-hugepages.mount)"}};
}

std::vector<Finding> ordinary_memory(const Patient& patient) {
  if (patient.config == nullptr || patient.uses_hugepages()) return {};
  const std::uint64_t needed = memory_of(patient).demand.at_start();
  const std::uint64_t there = patient.machine.memory.available_bytes;
  const std::string seen =
      fmt::format("{} MiB are available, this configuration needs {} MiB", mib(there), mib(needed));
  const std::string missing = drivers::shortage(patient.machine.memory, needed, false);
  if (missing.empty()) return {{Level::ok, seen}};
  return {{Level::error, seen, missing}};
}

std::vector<Finding> lock_limit(const Patient& patient) {
  const Machine& machine = patient.machine;
  if (!patient.uses_nics()) return {{Level::ok, "no NIC is handed over, so no memory must be locked"}};
  if (machine.may_lock_all) return {{Level::ok, "unlimited (CAP_IPC_LOCK)"}};
  if (!machine.lock_limit_bytes) return {{Level::ok, "unlimited"}};
  const std::string seen = fmt::format("{} KiB may be locked by this user", *machine.lock_limit_bytes / 1024);
  const std::uint64_t needed = patient.config != nullptr ? memory_of(patient).demand.at_start() : UINT64_MAX;
  if (*machine.lock_limit_bytes >= needed) return {{Level::ok, seen}};
  return {{Level::error, seen,
           "for a service: LimitMEMLOCK=infinity (longhaul@.service has it); in a shell: ulimit -l unlimited as root; "
           "for a user: \"USER - memlock unlimited\" in /etc/security/limits.d/longhaul.conf"}};
}

constexpr Check kMemoryChecks[] = {
    {"hugepages",
     "custody and receive buffers are in hugepages: NICs access them directly, so they must not move, and large pages "
     "avoid TLB misses",
     hugepages},
    {"hugepages-node", "each access of a worker to memory of another NUMA node takes about twice as long",
     node_hugepages},
    {"hugepages-mount", "longhaul uses hugepages without a mount; dpdk-testpmd and other DPDK programs need one",
     hugepage_mount},
    {"memory", "with `hugepages: false` DPDK takes all of its memory at the start", ordinary_memory},
    {"lock-limit", "VFIO locks all memory that a NIC can access, all of the box's, and counts it against this limit",
     lock_limit},
};

}  // namespace

std::span<const Check> memory_checks() { return kMemoryChecks; }

}  // namespace longhaul::app
