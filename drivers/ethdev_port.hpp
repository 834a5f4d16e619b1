// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port: a physical NIC by PCI address, or a virtual device by EAL string.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drivers/af_packet.hpp"
#include "drivers/mtu.hpp"
#include "drivers/port.hpp"
#include "drivers/port_stats.hpp"

struct rte_mempool;

namespace longhaul::drivers {

/// Which device; exactly one of `pci` and `vdev` is not empty.
struct EthdevSpec {
  std::string label;  ///< "host", "wan", "a", "b": for messages
  std::string pci;    ///< "0000:01:00.0", allowed when the EAL started; or the name of any device that is there already
  std::string vdev;   ///< "net_af_packet0,iface=veth0,framesz=16384,..."
};

/// Frame bytes an mbuf of the pool for a port must hold when IP packets of `mtu` bytes are to be carried.
std::uint32_t mbuf_bytes_for(const EthdevSpec& spec, std::uint32_t mtu);

/// One receive and one transmit queue, no offloads: mbufs may be shared with custody, so nothing may free them in
/// bulk (MBUF_FAST_FREE) or rely on having them alone. Promiscuous: a bump in the wire takes in everything.
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
  void start(std::uint32_t mtu, rte_mempool* pool);

  std::uint16_t receive(rte_mbuf** frames, std::uint16_t count) override;
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) override;
  /// "host (net_af_packet0, iface veth0)".
  std::string describe() const override;

  PortStats stats() const;
  bool link_up() const;

 private:
  std::uint16_t transmit_af_packet(rte_mbuf** frames, std::uint16_t count);
  [[noreturn]] void fail(const std::string& what, int error) const;

  EthdevSpec spec_;
  std::string name_;  ///< DPDK's device name
  std::optional<AfPacketArguments> af_packet_;
  std::uint16_t port_ = 0;
  std::uint32_t max_mtu_ = 0;
  std::uint64_t oversize_ = 0;
  bool started_ = false;
};

}  // namespace longhaul::drivers
