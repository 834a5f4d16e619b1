// SPDX-License-Identifier: BSD-3-Clause
// Processors: what they support, who uses them, how they sleep, and their clock.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/doctor/checks.hpp"
#include "drivers/sysfs.hpp"

namespace longhaul::app {
namespace {

using drivers::list_of;
using drivers::Machine;
using drivers::Processor;

/// The flags of `wanted` that the processor lacks.
std::vector<std::string> missing_flags(const Machine& machine, std::initializer_list<const char*> wanted) {
  std::vector<std::string> missing;
  for (const char* flag : wanted)
    if (!machine.processor_flags.contains(flag)) missing.emplace_back(flag);
  return missing;
}

std::vector<Finding> features(const Patient& patient) {
  // The flags of x86-64-v2, which the program is built for, as /proc/cpuinfo names them.
  if (const auto missing = missing_flags(patient.machine, {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"});
      !missing.empty())
    return {{Level::error, fmt::format("not an x86-64-v2 processor: {} missing", fmt::join(missing, ", ")),
             "in a virtual machine, give the guest the host's processor model (libvirt: <cpu "
             "mode='host-passthrough'/>); otherwise use a newer machine"}};
  // What lib/wire/icrc_routine.cpp asks of the processor.
  const auto widest = missing_flags(patient.machine, {"avx512f", "avx512bw", "vpclmulqdq"});
  if (widest.empty()) return {{Level::ok, "AVX-512 and VPCLMULQDQ: the widest ICRC routine"}};
  if (missing_flags(patient.machine, {"avx2", "vpclmulqdq"}).empty())
    return {{Level::ok, fmt::format("AVX2 and VPCLMULQDQ: a wide ICRC routine (the widest also needs {})",
                                    fmt::join(widest, ", "))}};
  if (missing_flags(patient.machine, {"pclmulqdq"}).empty())
    return {{Level::ok, "PCLMULQDQ: an ICRC routine of 16 bytes at a time (wider ones need VPCLMULQDQ)"}};
  return {
      {Level::warning, "no PCLMULQDQ: ICRCs are computed byte by byte, at least ten times slower",
       "in a virtual machine, give the guest the host's processor model (libvirt: <cpu mode='host-passthrough'/>)"}};
}

std::vector<Finding> tsc(const Patient& patient) {
  const auto missing = missing_flags(patient.machine, {"constant_tsc", "nonstop_tsc"});
  if (missing.empty()) return {{Level::ok, "constant and nonstop"}};
  return {{Level::error, fmt::format("the processor does not guarantee {}", fmt::join(missing, ", ")),
           "in a virtual machine, give the guest an invariant TSC (libvirt: <feature policy='require' name='invtsc'/>, "
           "which rules out live migration); otherwise use a newer machine"}};
}

std::vector<Finding> clocksource(const Patient& patient) {
  const Machine& machine = patient.machine;
  const std::string seen =
      fmt::format("{} (available: {})", machine.clocksource, fmt::join(machine.clocksources, ", "));
  if (machine.clocksource == "tsc" || machine.clocksource == "kvm-clock") return {{Level::ok, seen}};
  const bool there = std::ranges::find(machine.clocksources, "tsc") != machine.clocksources.end();
  return {
      {Level::warning, seen,
       there ? "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
             : "the kernel found the TSC unstable: find the reason with journalctl -k | grep -i -e tsc -e clocksource; "
               "update the firmware, or put tsc=reliable on the kernel command line if it was a false alarm"}};
}

std::vector<Finding> cores(const Patient& patient) {
  std::set<unsigned> online;
  for (const auto& [number, processor] : patient.machine.processors) online.insert(number);
  const std::string there = fmt::format("processors {} are online", list_of(online));
  if (patient.config == nullptr) return {{Level::ok, there}};
  const std::set<unsigned> cores = patient.cores();
  if (cores.empty()) {
    if (!patient.polls()) return {{Level::ok, there + "; the worker is not pinned"}};
    return {{Level::warning, there + "; the worker polls but is not pinned",
             "set core: N in the configuration, with N an isolated processor (or idle: sleep for a lab)"}};
  }
  std::set<unsigned> missing;
  std::ranges::set_difference(cores, online, std::inserter(missing, missing.end()));
  if (missing.empty()) return {{Level::ok, fmt::format("{}; workers on {}", there, list_of(cores))}};
  return {{Level::error, fmt::format("{}; the configuration names {}", there, list_of(missing)),
           "set core or cores in the configuration to processors that are online (lscpu --extended), or bring one "
           "online: echo 1 > /sys/devices/system/cpu/cpuN/online"}};
}

std::string isolate(const std::set<unsigned>& processors) {
  const std::string list = processors.empty() ? "LIST" : list_of(processors);
  return fmt::format(
      "put isolcpus=managed_irq,domain,{0} nohz_full={0} rcu_nocbs={0} on the kernel command line (GRUB_CMDLINE_LINUX "
      "in /etc/default/grub, update-grub, reboot)",
      list);
}

std::vector<Finding> isolation(const Patient& patient) {
  const std::set<unsigned>& isolated = patient.machine.isolated;
  const std::string there = isolated.empty() ? "no processor is isolated" : list_of(isolated) + " isolated";
  if (!patient.polls()) return {{Level::ok, there + "; it does not matter with idle: sleep"}};
  const std::set<unsigned> cores = patient.cores();
  if (cores.empty() && isolated.empty()) return {{Level::warning, there, isolate({})}};
  if (cores.empty()) return {{Level::ok, there}};
  std::set<unsigned> exposed;
  std::ranges::set_difference(cores, isolated, std::inserter(exposed, exposed.end()));
  if (exposed.empty()) return {{Level::ok, there}};
  std::set<unsigned> all = isolated;
  all.insert(cores.begin(), cores.end());
  return {{Level::warning, fmt::format("{}; workers on {} are not isolated", there, list_of(exposed)), isolate(all)}};
}

std::vector<Finding> siblings(const Patient& patient) {
  std::set<unsigned> workers = patient.cores();
  if (workers.empty()) workers = patient.machine.isolated;
  std::vector<Finding> findings;
  for (const unsigned worker : workers) {
    const auto found = patient.machine.processors.find(worker);
    if (found == patient.machine.processors.end()) continue;
    for (const unsigned sibling : found->second.siblings) {
      if (sibling == worker) continue;
      if (patient.cores().contains(sibling) && sibling > worker)
        findings.push_back({Level::warning, fmt::format("workers on {} and {} share one core", worker, sibling),
                            "set cores to one processor of each core (lscpu --extended, column CORE)"});
      if (patient.polls() && !workers.contains(sibling) && !patient.machine.isolated.contains(sibling))
        findings.push_back({Level::warning,
                            fmt::format("{} shares its core with {}, which any process can use", worker, sibling),
                            fmt::format("echo 0 > /sys/devices/system/cpu/cpu{}/online, or isolate it too, or put "
                                        "nosmt on the kernel command line",
                                        sibling)});
    }
  }
  if (findings.empty()) findings.push_back({Level::ok, "no worker shares its core"});
  return findings;
}

std::vector<Finding> governor(const Patient& patient) {
  std::map<std::string, std::set<unsigned>> by_name;
  for (const unsigned number : patient.worker_processors())
    if (const auto found = patient.machine.processors.find(number); found != patient.machine.processors.end())
      by_name[found->second.governor].insert(number);
  std::vector<Finding> findings;
  for (const auto& [name, processors] : by_name) {
    if (name.empty())
      findings.push_back({Level::ok, list_of(processors) + ": the platform chooses the frequency"});
    else if (name == "performance")
      findings.push_back({Level::ok, list_of(processors) + ": performance"});
    else
      findings.push_back({Level::warning, fmt::format("{}: {}", list_of(processors), name),
                          fmt::format("cpupower --cpu {} frequency-set --governor performance (package linux-cpupower)",
                                      list_of(processors))});
  }
  return findings;
}

std::vector<Finding> idle_states(const Patient& patient) {
  constexpr std::int64_t kHarmless = 10;  // microseconds
  if (patient.config != nullptr && patient.polls()) return {{Level::ok, "the workers poll: their cores never sleep"}};
  std::map<std::pair<std::int64_t, std::string>, std::set<unsigned>> deepest;
  for (const unsigned number : patient.worker_processors()) {
    const auto found = patient.machine.processors.find(number);
    if (found == patient.machine.processors.end()) continue;
    std::pair<std::int64_t, std::string> most;
    for (const drivers::IdleState& state : found->second.idle_states)
      if (state.enabled) most = std::max(most, {state.exit_us, state.name});
    deepest[most].insert(number);
  }
  const auto held = patient.machine.wakeup_us;
  std::vector<Finding> findings;
  for (const auto& [state, processors] : deepest) {
    const std::string seen =
        state.second.empty()
            ? list_of(processors) + ": no idle states"
            : fmt::format("{}: the deepest idle state is {}, {} us to wake up{}", list_of(processors), state.second,
                          state.first, held ? fmt::format("; /dev/cpu_dma_latency holds {} us", *held) : "");
    if (state.first <= kHarmless || (held && *held <= kHarmless))
      findings.push_back({Level::ok, seen});
    else
      findings.push_back({Level::warning, seen,
                          fmt::format("cpupower --cpu {} idle-set --disable-by-latency {} (package linux-cpupower), or "
                                      "put intel_idle.max_cstate=1 processor.max_cstate=1 on the kernel command line",
                                      list_of(processors), kHarmless)});
  }
  return findings;
}

std::vector<Finding> distance(const Patient& patient) {
  const Machine& machine = patient.machine;
  const std::vector<std::string> ports = patient.pci_ports();
  std::set<unsigned> workers = patient.cores();
  if (patient.config == nullptr) workers = machine.isolated;
  if (workers.empty() || !patient.uses_nics()) return {};
  std::vector<Finding> findings;
  for (const auto& [address, nic] : machine.nics) {
    const bool ours = patient.config != nullptr ? std::ranges::find(ports, address) != ports.end()
                                                : drivers::gives_to_dpdk(nic.driver);
    if (!ours || nic.node < 0) continue;
    std::set<unsigned> near;
    std::set<unsigned> far;
    for (const unsigned worker : workers)
      (drivers::node_of_processor(worker, patient.root) == nic.node ? near : far).insert(worker);
    std::set<unsigned> there;
    for (const auto& [number, processor] : machine.processors)
      if (processor.node == nic.node) there.insert(number);
    // Without a configuration, one worker nearby is enough: the operator can choose it.
    const bool well = patient.config != nullptr ? far.empty() : !near.empty();
    if (well)
      findings.push_back({Level::ok, fmt::format("{} is on node {}, like {}", address, nic.node, list_of(near))});
    else
      findings.push_back({Level::warning,
                          fmt::format("{} is on node {}, but {} on another", address, nic.node, list_of(far)),
                          fmt::format("set cores to processors of node {}: {}", nic.node, list_of(there))});
  }
  return findings;
}

constexpr Check kProcessorChecks[] = {
    {"processor",
     "the program needs x86-64-v2; it checks the ICRC of every packet, with PCLMULQDQ and AVX-512 where they "
     "are",
     features},
    {"tsc",
     "all timers use the time-stamp counter: if it stops or changes its rate, retransmission and give_up go wrong",
     tsc},
    {"clocksource", "a kernel that does not use the TSC has seen it go wrong on this machine", clocksource},
    {"cores", "each worker is pinned to its processor; the box does not start if it is missing", cores},
    {"core-isolation",
     "any other task on a worker's processor stops the worker for milliseconds, and its queues overflow", isolation},
    {"core-siblings",
     "two hardware threads of a core share its execution units: each gets about 60 % of the speed it has alone",
     siblings},
    {"core-node", "each frame of a NIC on another NUMA node crosses the link between the sockets twice", distance},
    {"governor", "a power-saving governor lowers the frequency between bursts", governor},
    {"c-states",
     "a worker with `idle: sleep` is late by the time that its processor takes to wake up; more than 10 us exceeds all "
     "the work of a box on a frame",
     idle_states},
};

}  // namespace

std::span<const Check> processor_checks() { return kProcessorChecks; }

}  // namespace longhaul::app
