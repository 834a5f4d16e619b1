// SPDX-License-Identifier: BSD-3-Clause
#pragma once

struct rte_mbuf;

namespace longhaul::test {

/// The thread sanitizer does not see into DPDK's libraries, where a buffer that one thread has freed becomes another's.
/// This tells it, for every mempool. Call it after the EAL has started; without the sanitizer it does nothing.
void explain_mempools();

/// rte_pktmbuf_free() of a frame that came out of a box. Where custody has let go of it before, DPDK reads a reference
/// count of one without an order that C++ knows (the processor has it); here it is one.
void free_taken(rte_mbuf* frame);

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace longhaul::test
