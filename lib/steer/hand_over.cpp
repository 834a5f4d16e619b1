// SPDX-License-Identifier: BSD-3-Clause
#include "steer/hand_over.hpp"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "custody/held.hpp"

namespace longhaul::steer {

namespace {

constexpr unsigned kShownFrames = 255;
constexpr std::uint16_t kShownBytes = 1024;

}  // namespace

void FreeRing::operator()(rte_ring* ring) const {
  HandedFrame frame;
  while (rte_ring_sc_dequeue(ring, reinterpret_cast<void**>(&frame)) == 0) rte_pktmbuf_free(frame.mbuf());
  std::free(ring);
}

rte_ring* allocate_ring(std::uint32_t entries) {
  const std::uint32_t size = std::bit_ceil(entries + 1);
  const ssize_t bytes = rte_ring_get_memsize(size);
  if (bytes < 0) throw std::runtime_error("a ring for " + std::to_string(entries) + " entries is impossible");
  // Own memory instead of rte_ring_create(): no name can collide. The producer touches the entries first, so they are
  // in its NUMA node's memory.
  void* memory = std::aligned_alloc(RTE_CACHE_LINE_SIZE,
                                    RTE_ALIGN_CEIL(static_cast<std::size_t>(bytes), std::size_t{RTE_CACHE_LINE_SIZE}));
  if (memory == nullptr) throw std::bad_alloc();
  auto* ring = static_cast<rte_ring*>(memory);
  rte_ring_init(ring, "hand over", size, RING_F_SC_DEQ | RING_F_SP_ENQ);
  return ring;
}

FrameRing make_ring(std::uint32_t frames) { return FrameRing(allocate_ring(frames)); }

HandOverRings::HandOverRings(unsigned workers, std::uint32_t frames) : workers_(workers) {
  for (unsigned from = 0; from < workers; ++from)
    for (unsigned to = 0; to < workers; ++to) rings_.push_back(from == to ? nullptr : make_ring(frames));
}

std::uint32_t HandOverRings::put(Worker from, Worker to, std::span<const HandedFrame> frames) {
  return rte_ring_sp_enqueue_burst(&ring(from, to), reinterpret_cast<void* const*>(frames.data()),
                                   static_cast<unsigned>(frames.size()), nullptr);
}

std::uint32_t HandOverRings::take(Worker from, Worker to, std::span<HandedFrame> frames) {
  return rte_ring_sc_dequeue_burst(&ring(from, to), reinterpret_cast<void**>(frames.data()),
                                   static_cast<unsigned>(frames.size()), nullptr);
}

rte_mempool* make_shown_pool(int socket) {
  static std::atomic<unsigned> serial{0};
  const std::string name = "lh_shown_" + std::to_string(serial++);
  rte_mempool* pool = rte_pktmbuf_pool_create(name.c_str(), kShownFrames, 0, custody::kMbufPrivateSize,
                                              kShownBytes + RTE_PKTMBUF_HEADROOM, socket < 0 ? SOCKET_ID_ANY : socket);
  if (pool == nullptr)
    throw std::runtime_error("cannot create the pool for RDMA-CM between workers: " +
                             std::string(rte_strerror(rte_errno)));
  return pool;
}

}  // namespace longhaul::steer
