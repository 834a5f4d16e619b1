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
  if (room > 65535)
    throw std::runtime_error("frames of " + std::to_string(frame_bytes) + " bytes do not fit into an mbuf");
  return static_cast<std::uint16_t>(room);
}

// Includes DPDK's header, its padding for memory channels, the unused end of a page (an element begins a page or lies
// within one), and the buffer's place in the pool's stack. Needs no EAL.
std::uint64_t buffer_bytes(std::uint32_t frame_bytes, std::uint64_t page_bytes) {
  rte_mempool_objsz size{};
  const std::uint32_t mbuf = sizeof(rte_mbuf) + custody::kMbufPrivateSize + room_of(frame_bytes);
  const std::uint64_t element = rte_mempool_calc_obj_size(mbuf, 0, &size);
  const std::uint64_t taken =
      element <= page_bytes ? page_bytes / (page_bytes / element) : RTE_ALIGN_CEIL(element, page_bytes);
  return taken + sizeof(void*);
}

// The pool itself, with a cache for each processor that DPDK could have.
constexpr std::uint64_t kPoolBytes = 2 << 20;

constexpr unsigned kCache = RTE_MEMPOOL_CACHE_MAX_SIZE / 2;
// DPDK lets a cache grow to one and a half of its size; a custody::BufferStash has up to 32 more.
static_assert(kCache * 3 / 2 + 32 <= Pools::kKeptByWorker);

unsigned cache_for(std::uint32_t count) { return std::min<unsigned>(kCache, count / 4); }

rte_mempool* make(const PoolPlan& plan, const std::string& what, std::uint32_t count, std::uint32_t frame_bytes) {
  const std::string name = plan.name + "_" + what;
  // Last in, first out: DPDK's default, a ring, hands out the buffer that has been out of the CPU's caches for the
  // longest.
  constexpr const char* kOps = "stack";
  rte_mempool* pool =
      rte_pktmbuf_pool_create_by_ops(name.c_str(), count, cache_for(count), custody::kMbufPrivateSize,
                                     room_of(frame_bytes), plan.socket < 0 ? SOCKET_ID_ANY : plan.socket, kOps);
  if (pool == nullptr)
    throw std::runtime_error("mbuf pool " + name + ": " + std::to_string(count) + " buffers of " +
                             std::to_string(frame_bytes) + " bytes (" +
                             std::to_string((count * buffer_bytes(frame_bytes, plan.page_bytes) + kPoolBytes) >> 20) +
                             " MiB) do not fit into the memory given to DPDK: " + rte_strerror(rte_errno));
  return pool;
}

}  // namespace

Pools Pools::create(const PoolPlan& plan) {
  Pools pools;
  try {
    pools.frames = make(plan, "frames", plan.frames, plan.frame_bytes);
    for (std::size_t i = 0; i < kSmallBytes.size(); ++i)
      pools.small[i] = make(plan, std::to_string(kSmallBytes[i]), plan.small_frames, kSmallBytes[i]);
    pools.made = make(plan, "made", made_buffers(plan), kMadeBytes);
  } catch (...) {
    pools.destroy();
    throw;
  }
  return pools;
}

std::uint64_t Pools::bytes_needed(const PoolPlan& plan) {
  std::uint64_t bytes = made_bytes(plan) + kPoolBytes;
  for (const BufferClass& buffers : classes(plan)) bytes += buffers.buffers * buffers.buffer_bytes + kPoolBytes;
  return bytes;
}

std::uint32_t Pools::made_buffers(const PoolPlan& plan) { return plan.made_frames + plan.cache_reserve; }

std::uint64_t Pools::made_bytes(const PoolPlan& plan) {
  return made_buffers(plan) * buffer_bytes(kMadeBytes, plan.page_bytes);
}

std::vector<BufferClass> Pools::classes(const PoolPlan& plan) {
  std::vector<BufferClass> all;
  for (const std::uint32_t size : kSmallBytes) {
    std::uint32_t reserve = plan.cache_reserve;
    if (size == kSmallBytes.back()) reserve += PoolPlan::dreqs_of(plan.small_frames);
    all.push_back(
        {"small_" + std::to_string(size), size, plan.small_frames, reserve, buffer_bytes(size, plan.page_bytes)});
  }
  all.push_back(
      {"receive", plan.frame_bytes, plan.frames, plan.frames_reserve, buffer_bytes(plan.frame_bytes, plan.page_bytes)});
  return all;
}

void Pools::destroy() noexcept {
  rte_mempool_free(frames);
  for (rte_mempool* pool : small) rte_mempool_free(pool);
  rte_mempool_free(made);
  *this = Pools{};
}

}  // namespace longhaul::engine
