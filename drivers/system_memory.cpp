// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/system_memory.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <fmt/format.h>

namespace longhaul::drivers {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKiB = 1024;

/// 0 when the file is not there.
std::uint64_t count_in(const fs::path& path) {
  std::uint64_t number = 0;
  std::ifstream(path) >> number;
  return number;
}

/// "HugePages_Free:    12 kB" of /proc/meminfo.
std::uint64_t meminfo(const std::string& root, const std::string& key) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key + ":")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) return 0;
    std::uint64_t number = 0;
    std::from_chars(line.data() + digits, line.data() + line.size(), number);
    return number;
  }
  return 0;
}

std::vector<Hugepages> hugepages_in(const fs::path& directory) {
  std::vector<Hugepages> all;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, none)) {
    constexpr std::string_view kPrefix = "hugepages-";
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::uint64_t kib = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), kib);
    all.push_back({kib * kKiB, count_in(entry.path() / "nr_hugepages"), count_in(entry.path() / "free_hugepages")});
  }
  std::ranges::sort(all, {}, &Hugepages::page_bytes);
  return all;
}

/// The hugepage size with the most bytes reserved, else the kernel's default size. page_bytes 0: the kernel has none.
Hugepages preferred(const SystemMemory& memory) {
  Hugepages best{memory.default_page_bytes};
  for (const Hugepages& of : memory.hugepages)
    if (of.total * of.page_bytes > best.total * best.page_bytes) best = of;
  return best;
}

std::string command(const Hugepages& of, std::uint64_t missing, const std::string& directory) {
  return fmt::format("echo {} > {}/hugepages-{}kB/nr_hugepages",
                     of.total + (missing + of.page_bytes - 1) / of.page_bytes, directory, of.page_bytes / kKiB);
}

std::string node_directory(int node) { return fmt::format("/sys/devices/system/node/node{}", node); }

std::string mib(std::uint64_t bytes) { return fmt::format("{} MiB", (bytes + (kKiB * kKiB) - 1) / (kKiB * kKiB)); }

}  // namespace

SystemMemory SystemMemory::read(const std::string& root) {
  SystemMemory memory;
  memory.available_bytes = meminfo(root, "MemAvailable") * kKiB;
  memory.default_page_bytes = meminfo(root, "Hugepagesize") * kKiB;
  memory.hugepages = hugepages_in(root + "/sys/kernel/mm/hugepages");
  return memory;
}

SystemMemory SystemMemory::read_node(int node, const std::string& root) {
  SystemMemory memory;
  memory.default_page_bytes = meminfo(root, "Hugepagesize") * kKiB;
  memory.hugepages = hugepages_in(root + node_directory(node) + "/hugepages");
  return memory;
}

std::uint64_t SystemMemory::free_hugepage_bytes() const {
  return std::accumulate(hugepages.begin(), hugepages.end(), std::uint64_t{0},
                         [](std::uint64_t bytes, const Hugepages& of) { return bytes + of.free * of.page_bytes; });
}

std::string shortage(const SystemMemory& memory, std::uint64_t needed, bool hugepages) {
  if (!hugepages) {
    // Where the kernel does not say, DPDK finds out.
    if (memory.available_bytes == 0 || needed <= memory.available_bytes) return "";
    return fmt::format(
        "{} of ordinary memory are needed, {} are available: configure fewer connections or less custody", mib(needed),
        mib(memory.available_bytes));
  }
  const std::uint64_t there = memory.free_hugepage_bytes();
  if (needed <= there) return "";
  const Hugepages best = preferred(memory);
  std::string text = fmt::format("{} of hugepages are needed, {} are free", mib(needed), mib(there));
  if (best.page_bytes == 0)
    return text + ": this kernel does not support hugepages (`hugepages: false` uses ordinary memory)";
  return text + fmt::format(". Reserve them: {} (for a lab, `hugepages: false` uses ordinary memory)",
                            command(best, needed - there, "/sys/kernel/mm/hugepages"));
}

std::string reservation_on_node(const SystemMemory& memory, int node, std::uint64_t needed) {
  const Hugepages best = preferred(memory);
  if (best.page_bytes == 0) return "";
  const std::uint64_t there = memory.free_hugepage_bytes();
  return command(best, std::max(needed, there + 1) - there, node_directory(node) + "/hugepages");
}

int node_of_processor(unsigned processor, const std::string& root) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(root + "/sys/devices/system/node", none)) {
    const std::string name = entry.path().filename();
    int node = 0;
    if (!name.starts_with("node") ||
        std::from_chars(name.data() + 4, name.data() + name.size(), node).ec != std::errc{})
      continue;
    if (fs::exists(entry.path() / fmt::format("cpu{}", processor), none)) return node;
  }
  return 0;
}

}  // namespace longhaul::drivers
