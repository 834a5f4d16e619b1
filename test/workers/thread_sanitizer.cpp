// SPDX-License-Identifier: BSD-3-Clause
#include "thread_sanitizer.hpp"

#include <rte_mbuf.h>

void longhaul::test::free_taken(rte_mbuf* frame) {
  (void)__atomic_load_n(&frame->refcnt, __ATOMIC_ACQUIRE);
  rte_pktmbuf_free(frame);
}

#ifdef __SANITIZE_THREAD__

#include <rte_mempool.h>
#include <sanitizer/tsan_interface.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace longhaul::test {

namespace {

std::array<rte_mempool_ops, RTE_MEMPOOL_MAX_OPS_IDX> g_real;

// What was done to a buffer before it goes into the pool happens before what is done after it comes out. (The per-lcore
// caches are inline functions in DPDK's headers, so the sanitizer sees them.)
int enqueue(rte_mempool* pool, void* const* objects, unsigned count) {
  __tsan_release(pool);
  return g_real[static_cast<std::size_t>(pool->ops_index)].enqueue(pool, objects, count);
}

int dequeue(rte_mempool* pool, void** objects, unsigned count) {
  const int result = g_real[static_cast<std::size_t>(pool->ops_index)].dequeue(pool, objects, count);
  __tsan_acquire(pool);
  return result;
}

}  // namespace

void explain_mempools() {
  for (std::uint32_t i = 0; i < rte_mempool_ops_table.num_ops; ++i) {
    rte_mempool_ops& ops = rte_mempool_ops_table.ops[i];
    if (ops.enqueue == enqueue) continue;
    g_real[i] = ops;
    ops.enqueue = enqueue;
    ops.dequeue = dequeue;
  }
}

}  // namespace longhaul::test

#else

void longhaul::test::explain_mempools() {}

#endif
