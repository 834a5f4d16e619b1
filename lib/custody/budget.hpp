// SPDX-License-Identifier: BSD-3-Clause
// What custody may use: all flows of one worker together, and those of one pair of hosts (base/fair_share.hpp).
#pragma once

#include <cstdint>
#include <limits>

namespace longhaul::custody {

/// What a pair of hosts, or all together, have in custody.
struct Holding {
  std::uint64_t bytes = 0;  ///< of frames
  std::uint32_t packets = 0;
  std::uint32_t large_mbufs = 0;  ///< of the packets, those in receive buffers
  std::uint32_t waiting = 0;      ///< of these, those that came before their turn (waiting_packets.hpp)

  [[gnu::always_inline]] void add(std::uint64_t frame_bytes, bool small) {
    bytes += frame_bytes;
    ++packets;
    if (!small) ++large_mbufs;
  }
  [[gnu::always_inline]] void remove(std::uint64_t frame_bytes, bool small) {
    bytes -= frame_bytes;
    --packets;
    if (!small) --large_mbufs;
  }

  Holding& operator+=(const Holding& more) {
    bytes += more.bytes;
    packets += more.packets;
    large_mbufs += more.large_mbufs;
    waiting += more.waiting;
    return *this;
  }

  std::uint32_t small_mbufs() const { return packets - large_mbufs; }
  bool operator==(const Holding&) const = default;
};

struct Budget {
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t box_bytes_limit = 0;
  std::uint64_t flow_bytes_limit = 0;
  std::uint64_t large_mbufs_limit = 0;  ///< the rest of the receive pool is the ports' reserve
  // Of one pair of hosts.
  std::uint64_t pair_bytes_limit = kUnlimited;
  std::uint64_t pair_large_mbufs_limit = kUnlimited;
  std::uint64_t pair_small_mbufs_limit = kUnlimited;

  // undivided() of both limits. The near part works them out.
  std::uint64_t undivided_bytes = 0;
  std::uint64_t undivided_large_mbufs = 0;
  /// The least of undivided_large_mbufs and plentiful_mbufs().
  std::uint64_t lane_mbufs = 0;

  /// From this many receive buffers in custody on, small frames are copied and no longer held by reference.
  std::uint64_t plentiful_mbufs() const { return large_mbufs_limit / 2; }
  /// The same for one pair of hosts: a pair that keeps many does not cause others' frames to be copied.
  std::uint64_t pair_plentiful_mbufs() const { return pair_large_mbufs_limit / 2; }

  Holding held;  ///< by all
};

}  // namespace longhaul::custody
