// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/runtime.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <spdlog/spdlog.h>

#include "app/process/memory_demand.hpp"
#include "config/config_error.hpp"
#include "drivers/interface.hpp"
#include "drivers/mtu.hpp"
#include "drivers/system_memory.hpp"

namespace longhaul::app {
namespace {

std::string mib(std::uint64_t bytes) { return fmt::format("{}MiB", (bytes + (1 << 20) - 1) >> 20); }

std::uint32_t own_mtu(const drivers::EthdevSpec& spec) {
  const auto af_packet = drivers::parse_af_packet(spec.vdev);
  return af_packet ? drivers::interface_mtu(af_packet->interface) : drivers::kDefaultMtu;
}

}  // namespace

std::uint32_t expected_mtu(const config::ProcessConfig& process, const drivers::EthdevSpec& first,
                           const drivers::EthdevSpec& second) {
  return process.mtu ? *process.mtu : std::min(own_mtu(first), own_mtu(second));
}

void fit_to_ports(engine::PoolPlan& plan, const config::ProcessConfig& process, const drivers::EthdevSpec& first,
                  const drivers::EthdevSpec& second) {
  constexpr std::uint64_t kSmallestHugepage = 2 << 20;
  if (process.hugepages) plan.page_bytes = kSmallestHugepage;
  std::uint32_t bytes = 0;
  for (const drivers::EthdevSpec* spec : {&first, &second}) {
    const std::uint32_t own = own_mtu(*spec);
    bytes = std::max(bytes, drivers::mbuf_bytes_for(*spec, process.mtu.value_or(own)));
  }
  plan.frame_bytes = bytes;
}

Runtime::Runtime(const config::ProcessConfig& process, engine::PoolPlan plan, const drivers::EthdevSpec& first,
                 const drivers::EthdevSpec& second, std::uint64_t table_bytes) {
  fit_to_ports(plan, process, first, second);

  drivers::EalOptions options;
  options.hugepages = process.hugepages;
  options.core = process.core;
  options.workers = process.more_cores;
  options.telemetry_as = process.telemetry_as;
  const MemoryDemand demand = memory_demand(process, plan, table_bytes);
  options.memory_bytes = process.hugepages ? demand.given : demand.given != 0 ? demand.given : demand.at_start();
  if (!process.hugepages && options.memory_bytes < demand.needed())
    throw config::ConfigError(
        fmt::format("memory: {} are too little for pools and tables: set at least {}, or leave `memory` out",
                    mib(options.memory_bytes), mib(demand.needed())));
  const std::string missing = drivers::shortage(drivers::SystemMemory::read(), demand.at_start(), process.hugepages);
  if (!missing.empty()) throw std::runtime_error(missing);
  for (const drivers::EthdevSpec* spec : {&first, &second}) {
    if (!spec->pci.empty()) options.pci.push_back(spec->devargs.empty() ? spec->pci : spec->pci + "," + spec->devargs);
  }
  eal_ = std::make_unique<drivers::Eal>(options);
  clock_ = std::make_unique<drivers::Clock>();
  const auto open = [&process](drivers::EthdevSpec spec) {
    spec.workers = process.workers();
    if (const auto& rings = process.descriptors; rings.given)
      spec.descriptors = drivers::Descriptors{rings.receive, rings.transmit};
    if (process.flow_control) spec.flow_control = static_cast<drivers::FlowControl>(*process.flow_control);
    return std::make_unique<drivers::EthdevPort>(std::move(spec));
  };
  first_ = open(first);
  second_ = open(second);
  mtu_ = drivers::agree_on_mtu(first_->mtu_capacity(), second_->mtu_capacity(), process.mtu);
  for (unsigned worker = 0; worker < process.workers(); ++worker) {
    const bool placed = process.hugepages && process.core;  // ordinary memory is on no socket
    sockets_.push_back(placed ? static_cast<int>(rte_lcore_to_socket_id(worker)) : -1);
    plan.socket = sockets_.back();
    if (pools_.contains(plan.socket)) continue;
    engine::PoolPlan here = plan;
    if (!pools_.empty()) here.name += fmt::format("_{}", plan.socket);
    make_pools(here, table_bytes + demand.itself);
  }
  warn_of_distance();
}

// `echo N > /sys/kernel/mm/hugepages/...` spreads over all sockets. So one socket may have too little although all
// together have enough.
void Runtime::make_pools(const engine::PoolPlan& plan, std::uint64_t others_bytes) {
  if (plan.socket < 0) {
    pools_[plan.socket] = engine::Pools::create(plan);
    return;
  }
  try {
    pools_[plan.socket] = engine::Pools::create(plan);
  } catch (const std::runtime_error&) {
    const std::uint64_t bytes = engine::Pools::bytes_needed(plan);
    const std::string command =
        drivers::reservation_on_node(drivers::SystemMemory::read_node(plan.socket), plan.socket, bytes + others_bytes);
    // Tables and the ports' rings must be on their socket, so their room is kept free meanwhile.
    const std::unique_ptr<void, decltype(&rte_free)> room(rte_malloc_socket(nullptr, others_bytes, 0, plan.socket),
                                                          &rte_free);
    engine::PoolPlan anywhere = plan;
    anywhere.socket = -1;
    pools_[plan.socket] = engine::Pools::create(anywhere);
    spdlog::warn(
        "pools of {} do not fit into the hugepages of NUMA socket {}: they may lie on any socket, which slows the "
        "workers down. Reserve hugepages there: {}",
        mib(bytes), plan.socket, command);
  }
}

// Every frame of a distant port crosses from one socket to the other.
void Runtime::warn_of_distance() const {
  for (const drivers::EthdevPort* port : {first_.get(), second_.get()})
    for (unsigned worker = 0; worker < workers(); ++worker)
      if (port->socket() >= 0 && socket_of(worker) >= 0 && port->socket() != socket_of(worker))
        spdlog::warn("{} is on NUMA socket {}, worker {} on socket {}: give the worker a core of socket {} (lscpu)",
                     port->describe(), port->socket(), worker, socket_of(worker), port->socket());
}

Runtime::~Runtime() {
  // Rings hold mbufs: destroy ports before the pools, and pools before the EAL.
  first_.reset();
  second_.reset();
  for (auto& [socket, pools] : pools_) pools.destroy();
}

void Runtime::start_ports() {
  std::vector<rte_mempool*> frames;
  for (unsigned worker = 0; worker < workers(); ++worker) frames.push_back(pools(worker).frames);
  first_->start(mtu_, frames);
  second_->start(mtu_, frames);
}

std::string Runtime::describe() const {
  return fmt::format("{} <-> {}, mtu {}", first_->describe(), second_->describe(), mtu_);
}

}  // namespace longhaul::app
