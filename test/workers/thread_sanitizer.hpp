// SPDX-License-Identifier: BSD-3-Clause
#pragma once

struct rte_mbuf;

namespace longhaul::test {

/// Tells the thread sanitizer, for every mempool, that a buffer which one thread freed becomes another thread's. The
/// sanitizer does not see this in DPDK's libraries. Call it after the EAL has started. Without the sanitizer it does
/// nothing.
void explain_mempools();

/// rte_pktmbuf_free() for a frame that came out of a box. If custody has released the frame before, DPDK reads a
/// reference count of one without an order that C++ knows (the processor has one). Here the order is explicit.
void free_taken(rte_mbuf* frame);

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace longhaul::test
