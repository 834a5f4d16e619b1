// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/ring_ports.hpp"

#include <fmt/format.h>
#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <stdexcept>
#include <string>

namespace longhaul::bench {

namespace {

constexpr BySide<const char*> kNames{"host", "wan"};
constexpr std::uint32_t kMtu = 4200;  // path MTU 4096 and its headers

// The pool name that dpdk-testpmd looks for on its socket 0 when it runs as a secondary process.
constexpr const char* kPoolName = "mb_pool_0";
constexpr unsigned kPoolSize = 63;

rte_ring* make_ring(const std::string& name, std::uint32_t frames) {
  rte_ring* ring =
      rte_ring_create(name.c_str(), frames, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
  if (ring == nullptr)
    throw std::runtime_error(fmt::format("ring {} of {} frames: {}", name, frames, rte_strerror(rte_errno)));
  return ring;
}

std::string device_name(Side side) { return std::string("net_ring_") + kNames[side]; }

}  // namespace

RingPorts::RingPorts(std::uint32_t in_frames, std::uint32_t out_frames)
    : in_frames_(in_frames), out_frames_(out_frames), taken_(out_frames) {
  pool_ = rte_pktmbuf_pool_create(kPoolName, kPoolSize, 0, 0,
                                  static_cast<std::uint16_t>(drivers::mbuf_bytes_for({}, kMtu) + RTE_PKTMBUF_HEADROOM),
                                  SOCKET_ID_ANY);
  if (pool_ == nullptr) throw std::runtime_error(fmt::format("ring ports: pool: {}", rte_strerror(rte_errno)));
  for (const Side side : {Side::host, Side::wan}) {
    const std::string name = std::string("linerate_") + kNames[side];
    wires_[side].in = make_ring(name + "_in", in_frames);
    wires_[side].out = make_ring(name + "_out", out_frames);
    if (rte_eth_from_rings(kNames[side], &wires_[side].in, 1, &wires_[side].out, 1, rte_socket_id()) < 0)
      throw std::runtime_error(fmt::format("{}: {}", device_name(side), rte_strerror(rte_errno)));
    ports_[side] = std::make_unique<drivers::EthdevPort>(drivers::EthdevSpec{kNames[side], device_name(side), ""});
    ports_[side]->start(kMtu, pool_);
  }
}

RingPorts::~RingPorts() {
  for (const Side side : {Side::host, Side::wan}) {
    ports_[side].reset();
    rte_vdev_uninit(device_name(side).c_str());
    for (rte_ring* ring : {wires_[side].in, wires_[side].out}) {
      void* frame = nullptr;
      while (ring != nullptr && rte_ring_sc_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
      rte_ring_free(ring);
    }
  }
  rte_mempool_free(pool_);
}

void RingPorts::put(Side side, std::span<rte_mbuf* const> frames) {
  if (frames.empty()) return;
  if (rte_ring_sp_enqueue_bulk(wires_[side].in, reinterpret_cast<void* const*>(frames.data()),
                               static_cast<unsigned>(frames.size()), nullptr) == 0)
    throw std::runtime_error(fmt::format("{} frames do not fit the {} port", frames.size(), kNames[side]));
}

std::span<rte_mbuf*> RingPorts::take(Side side) {
  const unsigned count = rte_ring_sc_dequeue_burst(wires_[side].out, reinterpret_cast<void**>(taken_.data()),
                                                   static_cast<unsigned>(taken_.size()), nullptr);
  return {taken_.data(), count};
}

std::size_t RingPorts::sent(Side side) const { return rte_ring_count(wires_[side].out); }

}  // namespace longhaul::bench
