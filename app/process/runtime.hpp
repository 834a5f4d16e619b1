// SPDX-License-Identifier: BSD-3-Clause
// From a checked configuration to two running ports: DPDK, pools, MTU. Used by `run` and `link`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/process_config.hpp"
#include "drivers/clock.hpp"
#include "drivers/eal.hpp"
#include "drivers/ethdev_port.hpp"
#include "engine/pools.hpp"

namespace longhaul::app {

/// Sets page_bytes, and sets frame_bytes to what an mbuf must hold for either port. A port that is not open yet cannot
/// be asked for its MTU. So if no MTU is configured, the interface's MTU or the default is assumed. Throws
/// std::runtime_error if an interface is missing.
void fit_to_ports(engine::PoolPlan& plan, const config::ProcessConfig& process, const drivers::EthdevSpec& first,
                  const drivers::EthdevSpec& second);

/// The size in bytes of the largest IP packet that both ports will carry, under the same assumptions.
std::uint32_t expected_mtu(const config::ProcessConfig& process, const drivers::EthdevSpec& first,
                           const drivers::EthdevSpec& second);

/// Two open ports. The destructor gives everything back in the right order.
class Runtime {
 public:
  /// `plan` is fitted to the ports, and to the sockets of the workers. Each socket has pools as planned, since one NIC
  /// may feed them all. Pools that do not fit their socket lie on any, with a warning. `table_bytes` of DPDK's memory
  /// are for others. Throws std::runtime_error; if memory is missing, it names the command that reserves it.
  Runtime(const config::ProcessConfig& process, engine::PoolPlan plan, const drivers::EthdevSpec& first,
          const drivers::EthdevSpec& second, std::uint64_t table_bytes = 0);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  drivers::EthdevPort& first() { return *first_; }
  drivers::EthdevPort& second() { return *second_; }
  /// The pools on the socket of a worker.
  const engine::Pools& pools(unsigned worker = 0) const { return pools_.at(socket_of(worker)); }
  unsigned workers() const { return static_cast<unsigned>(sockets_.size()); }
  /// NUMA socket of a worker's processor; -1 if its pools belong to no socket.
  int socket_of(unsigned worker) const { return sockets_.at(worker); }
  const drivers::Clock& clock() const { return *clock_; }

  /// Lets both ports receive. Call right before the loop, so that no ring overflows meanwhile.
  void start_ports();

  /// "host (...) <-> wan (...), mtu 9000".
  std::string describe() const;

 private:
  void make_pools(const engine::PoolPlan& plan, std::uint64_t others_bytes);
  void warn_of_distance() const;

  std::unique_ptr<drivers::Eal> eal_;
  std::vector<int> sockets_;            ///< by worker
  std::map<int, engine::Pools> pools_;  ///< by socket
  std::unique_ptr<drivers::EthdevPort> first_;
  std::unique_ptr<drivers::EthdevPort> second_;
  std::unique_ptr<drivers::Clock> clock_;
  std::uint32_t mtu_ = 0;
};

}  // namespace longhaul::app
