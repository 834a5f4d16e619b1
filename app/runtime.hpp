// SPDX-License-Identifier: BSD-3-Clause
// From a checked configuration to two running ports: DPDK, pools, MTU. Used by `run` and `link`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/process_config.hpp"
#include "drivers/clock.hpp"
#include "drivers/eal.hpp"
#include "drivers/ethdev_port.hpp"
#include "engine/pools.hpp"

namespace longhaul::app {

/// Two ports that are open; everything is given back in the right order when this ends.
class Runtime {
 public:
  /// `plan.frame_bytes` is computed from the ports. Throws std::runtime_error.
  Runtime(const config::ProcessConfig& process, engine::PoolPlan plan, const drivers::EthdevSpec& first,
          const drivers::EthdevSpec& second);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  drivers::EthdevPort& first() { return *first_; }
  drivers::EthdevPort& second() { return *second_; }
  const engine::Pools& pools() const { return pools_; }
  const drivers::Clock& clock() const { return *clock_; }

  /// Lets both ports receive. Call right before the loop, so that no ring overflows meanwhile.
  void start_ports();

  /// "host (...) <-> wan (...), mtu 9000".
  std::string describe() const;

 private:
  std::unique_ptr<drivers::Eal> eal_;
  engine::Pools pools_;
  std::unique_ptr<drivers::EthdevPort> first_;
  std::unique_ptr<drivers::EthdevPort> second_;
  std::unique_ptr<drivers::Clock> clock_;
  std::uint32_t mtu_ = 0;
};

}  // namespace longhaul::app
