// SPDX-License-Identifier: BSD-3-Clause
// What a box needs to have before it starts: memory for its tables and buffers, and buffers for what custody promises.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"

namespace longhaul::box {

/// So many frame bytes are held whatever frames they come in, if only each has `least_frame` bytes: all of one size,
/// or any mix. Smaller frames are held as long as there are buffers.
struct CustodyPromise {
  std::uint64_t bytes = 0;           ///< 0: nothing is promised
  std::uint32_t least_frame = 1024;  ///< bytes of the smallest frame, without FCS

  /// What each of several workers holds, rounded up: each holds its own connections' only.
  std::uint64_t share(unsigned workers) const { return (bytes + workers - 1) / workers; }

  /// Frame bytes that are under way on a path of that rate (bits per second) and round trip, rounded up.
  static std::uint64_t bytes_under_way(std::uint64_t rate_bps, Duration round_trip);
};

/// What a promise asks of one of the classes of buffers.
struct BufferNeed {
  std::uint32_t least_frame = 0;  ///< bytes of the smallest promised frame that goes there; 0: none does
  std::uint64_t buffers = 0;      ///< to hold all that is promised in such frames, and the class's reserve
};

/// One for each of `classes` (engine::Pools::classes()). Of small buffers a mix needs no more than frames of the worst
/// size alone. Of receive buffers it may: those that are plentiful hold small frames too (custody::Budget), and then
/// larger ones come. With several workers each holds its share by itself, out of pools that are theirs together.
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
  std::vector<BufferNeed> needs;  ///< beside `buffers`; empty when nothing is promised

  /// Of tables, RDMA-CM's bookkeeping and timers; rounded up. The restart record has its own.
  std::uint64_t bytes_per_connection = 0;

  std::uint64_t dpdk_bytes() const { return sum(dpdk); }
  std::uint64_t dpdk_bytes_of_tables() const;  ///< without the buffers
  std::uint64_t ordinary_bytes() const { return sum(ordinary); }

 private:
  static std::uint64_t sum(std::span<const Item> items);
};

/// Among how many a box's work is divided.
struct Division {
  unsigned workers = 1;
  unsigned sockets = 1;           ///< NUMA sockets that these are on: each has pools as planned
  std::uint32_t connections = 0;  ///< of the whole box; with several workers the home of each has room for their owners
};

/// `settings` are what each worker has, `promise` is the whole box's. What the plan has are sums over all workers, but
/// for `buffers` and `needs`: those are of one socket.
MemoryPlan plan_memory(const engine::Settings& settings, const engine::PoolPlan& pools, const CustodyPromise& promise,
                       const Division& division = {});

}  // namespace longhaul::box
