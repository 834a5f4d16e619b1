// SPDX-License-Identifier: BSD-3-Clause
// What a box needs before it starts: memory for its tables and buffers, and buffers for what custody promises.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"

namespace longhaul::box {

/// Custody holds this many frame bytes, in frames of one size or any mix, if each frame has at least `least_frame`
/// bytes. Smaller frames are held as long as there are buffers.
struct CustodyPromise {
  std::uint64_t bytes = 0;           ///< 0: nothing is promised
  std::uint32_t least_frame = 1024;  ///< bytes of the smallest frame, without FCS

  /// What each of several workers holds, rounded up: a worker holds packets of its own connections only.
  std::uint64_t share(unsigned workers) const { return (bytes + workers - 1) / workers; }

  /// Frame bytes under way on a path with this rate (bits per second) and round trip, rounded up.
  static std::uint64_t bytes_under_way(std::uint64_t rate_bps, Duration round_trip);
};

/// What a promise needs of one class of buffers.
struct BufferNeed {
  std::uint32_t least_frame = 0;  ///< bytes of the smallest promised frame that goes there; 0: none does
  std::uint64_t buffers = 0;      ///< to hold all that is promised in such frames, and the class's reserve
};

/// One for each of `classes` (engine::Pools::classes()). A mix of frames needs no more small buffers than frames of the
/// worst size alone. It may need more receive buffers: while these are plentiful they hold small frames too
/// (custody::Budget), and then larger frames come. With several workers each holds its own share, out of common pools.
std::vector<BufferNeed> buffers_needed(const CustodyPromise& promise, std::span<const engine::BufferClass> classes,
                                       unsigned workers = 1);

struct MemoryPlan {
  struct Item {
    std::string what;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  ///< of all of them
  };
  std::vector<Item> dpdk;      ///< from the memory given to DPDK: hugepages
  std::vector<Item> ordinary;  ///< from the process's heap, when full
  std::vector<Item> file;      ///< of the restart record

  std::vector<engine::BufferClass> buffers;
  std::vector<BufferNeed> needs;  ///< one for each of `buffers`; empty when nothing is promised

  /// Bytes of tables, RDMA-CM's bookkeeping and timers, rounded up. The restart record is not included.
  std::uint64_t bytes_per_connection = 0;

  std::uint64_t dpdk_bytes() const { return sum(dpdk); }
  std::uint64_t dpdk_bytes_of_tables() const;  ///< without the buffers
  std::uint64_t ordinary_bytes() const { return sum(ordinary); }

 private:
  static std::uint64_t sum(std::span<const Item> items);
};

/// How a box's work is divided.
struct Division {
  unsigned workers = 1;
  unsigned sockets = 1;           ///< NUMA sockets of the workers: each has pools as planned
  std::uint32_t connections = 0;  ///< of the whole box; with several workers each home has room for all owners
  bool repairs = false;           ///< the workers repair flows with peers
};

/// `settings` are each worker's, `promise` is the whole box's. The plan has sums over all workers, except `buffers` and
/// `needs`, which are of one socket.
MemoryPlan plan_memory(const engine::Settings& settings, const engine::PoolPlan& pools, const CustodyPromise& promise,
                       const Division& division = {});

}  // namespace longhaul::box
