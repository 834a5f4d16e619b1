// SPDX-License-Identifier: BSD-3-Clause
// What one worker's engine has seen of next hops, for the others: a host's flows may be spread over several workers,
// and ARP comes to only one of them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/time.hpp"
#include "wire/neighbour.hpp"

namespace longhaul::engine {

/// The newest items, each with a number. A reader that comes late misses the oldest. News is rare, so a lock is no
/// burden; to find none costs one load.
class NextHopNews {
 public:
  struct Item {
    Time at = 0;
    const void* from = nullptr;  ///< the engine that posted it
    bool heard = false;          ///< `neighbour` is set; otherwise its VLAN and what follows it are
    wire::Neighbour neighbour;
    wire::IpAddress host;
    wire::IpAddress far;
    wire::EthernetAddresses addresses;  ///< of a frame from `host` to `far` in neighbour.vlan
  };

  void post(const Item& item) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = posted_.load(std::memory_order_relaxed);
    items_[number % kKept] = item;
    posted_.store(number + 1, std::memory_order_release);
  }

  std::uint64_t posted() const { return posted_.load(std::memory_order_relaxed); }

  /// Calls read(item) for each item from number `next` on that is still there, and moves `next` past them.
  template <typename Read>
  void read_from(std::uint64_t& next, Read&& read) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t end = posted_.load(std::memory_order_relaxed);
    for (next = std::max(next, end - std::min(end, kKept)); next < end; ++next) read(items_[next % kKept]);
  }

 private:
  static constexpr std::uint64_t kKept = 64;

  std::mutex mutex_;
  std::atomic<std::uint64_t> posted_{0};
  std::array<Item, kKept> items_;
};

}  // namespace longhaul::engine
