// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace longhaul::test {

/// The thread sanitizer does not see into DPDK's libraries, where a buffer that one thread has freed becomes another's.
/// This tells it, for every mempool. Call it after the EAL has started; without the sanitizer it does nothing.
void explain_mempools();

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace longhaul::test
