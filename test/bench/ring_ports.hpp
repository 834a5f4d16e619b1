// SPDX-License-Identifier: BSD-3-Clause
// The two ports of a device under test, made of rings in memory (net_ring): without the kernel or copies, and with real
// frame contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/side.hpp"
#include "drivers/ethdev_port.hpp"

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;

namespace longhaul::bench {

/// The ports that a device uses.
struct PortPair {
  drivers::Port& host;
  drivers::Port& wan;
  drivers::Port& operator[](Side side) const { return side == Side::host ? host : wan; }
};

/// Host port and WAN port as DPDK devices, and the other ends of their rings. Other processes may attach to the devices
/// if the EAL allows it. Only one of these per process at a time.
class RingPorts {
 public:
  /// A port holds `in_frames` received frames, like a NIC's descriptors, and `out_frames` sent frames until they are
  /// taken. Both are powers of two. Throws std::runtime_error.
  RingPorts(std::uint32_t in_frames, std::uint32_t out_frames);
  ~RingPorts();
  RingPorts(const RingPorts&) = delete;
  RingPorts& operator=(const RingPorts&) = delete;

  /// The ports for a device under test in this process: the same class as the box's in production.
  PortPair pair() { return {*ports_[Side::host], *ports_[Side::wan]}; }

  /// Makes the device receive all `frames`. Throws std::runtime_error if they do not fit.
  void put(Side side, std::span<rte_mbuf* const> frames);
  /// The frames that the device has sent since the last call.
  std::span<rte_mbuf*> take(Side side);
  /// How many frames take() would give now.
  std::size_t sent(Side side) const;

  std::uint32_t in_frames() const { return in_frames_; }
  std::uint32_t out_frames() const { return out_frames_; }

 private:
  struct Wire {
    rte_ring* in = nullptr;
    rte_ring* out = nullptr;
  };

  std::uint32_t in_frames_;
  std::uint32_t out_frames_;
  rte_mempool* pool_ = nullptr;  ///< devices need one, but ring ports take nothing from it
  BySide<Wire> wires_;
  BySide<std::unique_ptr<drivers::EthdevPort>> ports_;
  std::vector<rte_mbuf*> taken_;
};

}  // namespace longhaul::bench
