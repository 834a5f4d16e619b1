// SPDX-License-Identifier: BSD-3-Clause
// What one worker's engine has seen of next hops and others need: a host's flows may be spread over several, and ARP
// comes to one of them only.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/time.hpp"
#include "wire/neighbour.hpp"

namespace longhaul::engine {

/// The newest items, each with a number. A reader that comes late misses the oldest. News are rare, so a lock is no
/// burden; that there are none costs one load.
class NextHopNews {
 public:
  struct Item {
    Time at = 0;
    const void* from = nullptr;  ///< the engine that posted it
    bool heard = false;          ///< `neighbour` means something; otherwise the other three do
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

  /// Calls read(item) for each item from number `next` on that is still there, and moves `next` behind them.
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
