// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port: a physical NIC by PCI address, or a virtual device by EAL string.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/port_stats.hpp"
#include "drivers/af_packet.hpp"
#include "drivers/ethdev_queue.hpp"
#include "drivers/flow_control.hpp"
#include "drivers/mtu.hpp"
#include "drivers/port.hpp"
#include "wire/headers.hpp"

struct rte_mempool;

namespace longhaul::drivers {

struct ReceiveHash;

/// Sizes of a queue's rings.
struct Descriptors {
  std::uint16_t receive = 1024;
  std::uint16_t transmit = 1024;
};

/// Which device; exactly one of `pci` and `vdev` is not empty.
struct EthdevSpec {
  std::string label;  ///< "host", "wan", "a", "b": for messages
  std::string pci;    ///< "0000:01:00.0", allowed when the EAL started; or the name of any device that is there already
  std::string vdev;   ///< "net_af_packet0,iface=veth0,framesz=16384,..."
  std::string devargs = {};  ///< of the NIC's driver, given to the EAL when it started; for messages here
  unsigned workers = 1;      ///< workers that use it, each with a pair of queues
  /// Asked for; the device may change them. Not set: the usual ones, and a change is no news.
  std::optional<Descriptors> descriptors = std::nullopt;
  /// Not set: off, and a device that cannot switch it off is taken as it is.
  std::optional<FlowControl> flow_control = std::nullopt;
};

/// Frame bytes an mbuf of the pool for a port must hold when IP packets of `mtu` bytes are to be carried.
std::uint32_t mbuf_bytes_for(const EthdevSpec& spec, std::uint32_t mtu);

/// A pair of queues for each worker, no offloads: mbufs may be shared with custody, so nothing may free them in
/// bulk (MBUF_FAST_FREE) or rely on having them alone. Promiscuous: a bump in the wire takes in everything.
///
/// A NIC spreads over several receive queues by the two IP addresses alone, as steer::pair_hash() does, if it can. A
/// virtual device spreads in its own way. A NIC that cannot, or whose driver refuses, has one receive queue, the first
/// worker's.
class EthdevPort final : public Port {
 public:
  /// Finds (PCI) or makes (vdev) the device. Needs a started EAL. Throws std::runtime_error when it is not there.
  explicit EthdevPort(EthdevSpec spec);
  ~EthdevPort() override;
  EthdevPort(const EthdevPort&) = delete;
  EthdevPort& operator=(const EthdevPort&) = delete;

  MtuCapacity mtu_capacity() const;

  /// Sets up the queues with mbufs of `pool` and starts. `mtu` in bytes, within mtu_capacity().
  /// Throws std::runtime_error that says which step the driver refused.
  void start(std::uint32_t mtu, rte_mempool* pool) { start(mtu, std::span(&pool, 1)); }
  /// The same with a pool for each worker's receive queue.
  void start(std::uint32_t mtu, std::span<rte_mempool* const> pools);

  /// One worker's part of the port: each may be used by a thread of its own.
  Port& queue(std::size_t worker) { return *queues_.at(worker); }
  /// Throws std::runtime_error.
  wire::MacAddress mac() const;
  /// NUMA socket of the NIC, -1 when it has none.
  int socket() const;

  // The first worker's queues.
  std::uint16_t receive(rte_mbuf** frames, std::uint16_t count) override;
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) override;
  /// What it is: "net_af_packet0, iface veth0", or a PCI address.
  std::string device() const;
  /// "host (net_af_packet0, iface veth0)".
  std::string describe() const override;

  PortStats stats() const;
  /// Any thread.
  bool link_up() const;
  /// Takes the link down, so that the other end sees it, or up again. The link of a net_af_packet device is that of its
  /// network interface. Any thread. Throws std::runtime_error when the driver cannot.
  void set_link(bool up);

 private:
  /// Returns what rte_eth_dev_start() returns.
  int configure_and_start(std::uint32_t mtu, std::span<rte_mempool* const> pools);
  void configure_queues(std::uint32_t mtu, std::span<rte_mempool* const> pools);
  void give_up_hashing(int error);
  void tell_of_hash(const ReceiveHash& hash) const;
  void fill_indirection() const;
  void apply_flow_control() const;
  Descriptors adjusted_descriptors() const;
  [[noreturn]] void fail(const std::string& what, int error) const;

  EthdevSpec spec_;
  std::string name_;  ///< DPDK's device name
  std::optional<AfPacketArguments> af_packet_;
  std::uint16_t port_ = 0;
  std::uint32_t max_mtu_ = 0;
  std::uint16_t receive_queues_ = 0;
  bool may_hash_ = true;  ///< the driver has not refused to
  std::vector<std::unique_ptr<EthdevQueue>> queues_;
  bool started_ = false;
};

}  // namespace longhaul::drivers
