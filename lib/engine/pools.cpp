// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pools.hpp"

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>

#include "custody/held.hpp"

namespace longhaul::engine {

namespace {

std::uint16_t room_of(std::uint32_t frame_bytes) {
  const std::uint32_t room = frame_bytes + RTE_PKTMBUF_HEADROOM;
  if (room > 65535) throw std::runtime_error("frames of " + std::to_string(frame_bytes) + " bytes do not fit an mbuf");
  return static_cast<std::uint16_t>(room);
}

// mempool header and alignment per element, generously.
constexpr std::uint64_t kElementOverhead = 192;

std::uint64_t pool_bytes(std::uint64_t count, std::uint32_t frame_bytes) {
  return count * (sizeof(rte_mbuf) + custody::kMbufPrivateSize + room_of(frame_bytes) + kElementOverhead);
}

unsigned cache_for(std::uint32_t count) { return std::min<unsigned>(RTE_MEMPOOL_CACHE_MAX_SIZE / 2, count / 4); }

rte_mempool* make(const std::string& name, std::uint32_t count, std::uint32_t frame_bytes, int socket) {
  // Last in, first out: DPDK's default, a ring, hands out the buffer that no cache has seen for the longest.
  constexpr const char* kOps = "stack";
  rte_mempool* pool = rte_pktmbuf_pool_create_by_ops(name.c_str(), count, cache_for(count), custody::kMbufPrivateSize,
                                                     room_of(frame_bytes), socket < 0 ? SOCKET_ID_ANY : socket, kOps);
  if (pool == nullptr)
    throw std::runtime_error("mbuf pool " + name + ": " + std::to_string(count) + " buffers of " +
                             std::to_string(frame_bytes) + " bytes (" +
                             std::to_string(pool_bytes(count, frame_bytes) >> 20) +
                             " MiB) do not fit the memory given to DPDK: " + rte_strerror(rte_errno));
  return pool;
}

}  // namespace

Pools Pools::create(const PoolPlan& plan) {
  Pools pools;
  try {
    pools.frames = make(plan.name + "_frames", plan.frames, plan.frame_bytes, plan.socket);
    for (std::size_t i = 0; i < kSmallBytes.size(); ++i)
      pools.small[i] =
          make(plan.name + "_" + std::to_string(kSmallBytes[i]), plan.small_frames, kSmallBytes[i], plan.socket);
  } catch (...) {
    pools.destroy();
    throw;
  }
  return pools;
}

std::uint64_t Pools::bytes_needed(const PoolPlan& plan) {
  std::uint64_t bytes = pool_bytes(plan.frames, plan.frame_bytes);
  for (const std::uint32_t size : kSmallBytes) bytes += pool_bytes(plan.small_frames, size);
  return bytes;
}

void Pools::destroy() noexcept {
  rte_mempool_free(frames);
  for (rte_mempool* pool : small) rte_mempool_free(pool);
  *this = Pools{};
}

}  // namespace longhaul::engine
