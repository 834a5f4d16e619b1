// SPDX-License-Identifier: BSD-3-Clause
// What custody may use, for all flows of one worker together.
#pragma once

#include <cstdint>

namespace longhaul::custody {

struct Budget {
  std::uint64_t box_bytes_limit = 0;
  std::uint64_t flow_bytes_limit = 0;
  std::uint64_t large_mbufs_limit = 0;  ///< the rest of the receive pool is the ports' reserve

  /// From this many receive buffers in custody on, small frames are copied and no longer held by reference.
  std::uint64_t plentiful_mbufs() const { return large_mbufs_limit / 2; }

  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
  std::uint64_t large_mbufs = 0;
};

}  // namespace longhaul::custody
