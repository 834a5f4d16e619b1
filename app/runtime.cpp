// SPDX-License-Identifier: BSD-3-Clause
#include "app/runtime.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "drivers/mtu.hpp"

namespace longhaul::app {
namespace {

// Beside the pools: DPDK itself, the ports' rings, the engine's tables.
constexpr std::uint64_t kMemoryBesidesPools = 192ull << 20;

/// Frame bytes an mbuf must hold for either port. Ports that are not open yet cannot be asked for their MTU, so without
/// a configured one an interface's own or the default is assumed.
std::uint32_t frame_bytes(const config::ProcessConfig& process, const drivers::EthdevSpec& first,
                          const drivers::EthdevSpec& second) {
  std::uint32_t bytes = 0;
  for (const drivers::EthdevSpec* spec : {&first, &second}) {
    const auto af_packet = drivers::parse_af_packet(spec->vdev);
    const std::uint32_t own = af_packet ? drivers::interface_mtu(af_packet->interface) : drivers::kDefaultMtu;
    bytes = std::max(bytes, drivers::mbuf_bytes_for(*spec, process.mtu.value_or(own)));
  }
  return bytes;
}

}  // namespace

Runtime::Runtime(const config::ProcessConfig& process, engine::PoolPlan plan, const drivers::EthdevSpec& first,
                 const drivers::EthdevSpec& second) {
  plan.frame_bytes = frame_bytes(process, first, second);

  drivers::EalOptions options;
  options.hugepages = process.hugepages;
  options.core = process.core;
  options.memory_bytes = process.memory_bytes;
  // With hugepages DPDK takes what it needs when it needs it; ordinary memory must be sized beforehand.
  if (options.memory_bytes == 0 && !process.hugepages)
    options.memory_bytes = engine::Pools::bytes_needed(plan) + kMemoryBesidesPools;
  for (const drivers::EthdevSpec* spec : {&first, &second}) {
    if (!spec->pci.empty()) options.pci.push_back(spec->pci);
  }
  eal_ = std::make_unique<drivers::Eal>(options);
  clock_ = std::make_unique<drivers::Clock>();
  first_ = std::make_unique<drivers::EthdevPort>(first);
  second_ = std::make_unique<drivers::EthdevPort>(second);
  mtu_ = drivers::agree_on_mtu(first_->mtu_capacity(), second_->mtu_capacity(), process.mtu);
  pools_ = engine::Pools::create(plan);
}

Runtime::~Runtime() {
  // Rings hold mbufs: ports go before the pools, pools before the EAL.
  first_.reset();
  second_.reset();
  pools_.destroy();
}

void Runtime::start_ports() {
  first_->start(mtu_, pools_.frames);
  second_->start(mtu_, pools_.frames);
}

std::string Runtime::describe() const {
  return fmt::format("{} <-> {}, mtu {}", first_->describe(), second_->describe(), mtu_);
}

}  // namespace longhaul::app
