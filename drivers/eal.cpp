// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/eal.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_eal.h>
#include <rte_errno.h>

namespace longhaul::drivers {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;

/// The processors that this thread may run on now, as EAL writes sets: "0,1,5".
std::string allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "0";
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return fmt::format("{}", fmt::join(processors, ","));
}

}  // namespace

std::vector<std::string> Eal::arguments(const EalOptions& options) {
  std::vector<std::string> args{options.program};
  // The calling thread is lcore 0. EAL always pins it; a set of all processors is the way to say "not pinned".
  std::string lcores = options.core ? fmt::format("0@{}", *options.core) : fmt::format("0@({})", allowed_processors());
  for (std::size_t i = 0; i < options.workers.size(); ++i) lcores += fmt::format(",{}@{}", i + 1, options.workers[i]);
  args.push_back("--lcores=" + lcores);
  // Unless asked for, nothing is shared with secondary processes, and boxes on one machine must not collide in
  // /var/run/dpdk. --no-huge means the legacy memory layout, which --in-memory excludes.
  if (!options.shared_as.empty()) {
    args.push_back("--file-prefix=" + options.shared_as);
    if (!options.huge_dir.empty()) args.push_back("--huge-dir=" + options.huge_dir);
  } else if (options.hugepages) {
    args.emplace_back("--in-memory");
  } else {
    args.emplace_back("--no-huge");
    args.emplace_back("--no-shconf");
  }
  if (options.telemetry_as.empty())
    args.emplace_back("--no-telemetry");
  else if (options.shared_as.empty())
    args.push_back("--file-prefix=" + options.telemetry_as);  // the directory of its socket
  if (options.memory_bytes != 0) {
    args.emplace_back("-m");
    args.push_back(std::to_string((options.memory_bytes + kMiB - 1) / kMiB));
  }
  if (options.pci.empty()) args.emplace_back("--no-pci");
  for (const std::string& address : options.pci) args.push_back("--allow=" + address);
  // Without it rte_net_crc and others silently stay below AVX-512.
  args.emplace_back("--force-max-simd-bitwidth=512");
  args.emplace_back("--log-level=error");
  return args;
}

Eal::Eal(const EalOptions& options) {
  // EAL's own answer would be its whole usage text.
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  std::vector<unsigned> wanted = options.workers;
  if (options.core) wanted.push_back(*options.core);
  for (const unsigned core : wanted)
    if (static_cast<long>(core) >= processors)
      throw std::runtime_error(fmt::format("core {}: this machine has processors 0 to {}", core, processors - 1));
  const std::vector<std::string> args = arguments(options);
  std::vector<char*> argv;
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  if (rte_eal_init(static_cast<int>(args.size()), argv.data()) >= 0) return;
  const int error = rte_errno;
  throw std::runtime_error(fmt::format(
      "DPDK did not start: {} (arguments: {}).{}{}", rte_strerror(error), fmt::join(args, " "),
      options.hugepages ? " Are hugepages reserved (/proc/meminfo)? For a lab, `hugepages: false` uses ordinary memory."
                        : " Is there enough memory, and may this user lock it (ulimit -l)?",
      std::ranges::any_of(options.pci, [](const std::string& nic) { return nic.find(',') != std::string::npos; })
          ? " Do the NICs' drivers know the `devargs` (see the messages above)?"
          : ""));
}

Eal::~Eal() { rte_eal_cleanup(); }

}  // namespace longhaul::drivers
