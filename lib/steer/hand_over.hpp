// SPDX-License-Identifier: BSD-3-Clause
// The rings between workers: from each worker to each other one, with one producer and one consumer, without locks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/side.hpp"
#include "steer/pair_hash.hpp"

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;

namespace longhaul::steer {

/// A frame on its way from one worker to another: its mbuf, and in the low bits of the pointer what the next worker has
/// to know. Mbufs are aligned to cache lines.
class HandedFrame {
 public:
  /// Set: the frame goes to its home worker, which decides who owns it. Clear: it goes to its owner's engine.
  static constexpr std::uintptr_t kToHome = 2;
  /// A copy for the engine alone: the original has left already.
  static constexpr std::uintptr_t kShown = 4;

  HandedFrame() = default;
  HandedFrame(rte_mbuf* mbuf, Side side, std::uintptr_t flags)
      : word_(reinterpret_cast<std::uintptr_t>(mbuf) | static_cast<std::uintptr_t>(side) | flags) {}

  rte_mbuf* mbuf() const { return reinterpret_cast<rte_mbuf*>(word_ & ~std::uintptr_t{7}); }
  Side side() const { return static_cast<Side>(word_ & 1); }
  bool to_home() const { return (word_ & kToHome) != 0; }
  bool shown() const { return (word_ & kShown) != 0; }

 private:
  std::uintptr_t word_ = 0;
};
static_assert(sizeof(HandedFrame) == sizeof(void*));

/// Frees the frames in it too.
struct FreeRing {
  void operator()(rte_ring* ring) const;
};
using FrameRing = std::unique_ptr<rte_ring, FreeRing>;
/// A ring of pointers for one producer and one consumer, with room for `entries` at least. Does not need the EAL.
/// std::free() frees it. Throws std::bad_alloc, std::runtime_error.
rte_ring* allocate_ring(std::uint32_t entries);
/// The same, of HandedFrames; mbufs need the EAL.
FrameRing make_ring(std::uint32_t frames);

/// Each ring may be used by two threads: `from` puts, `to` takes.
class HandOverRings {
 public:
  /// Frames that a ring holds: how far a worker may be behind another. A NIC's queue holds as many.
  static constexpr std::uint32_t kFrames = 1023;

  /// As make_ring().
  explicit HandOverRings(unsigned workers, std::uint32_t frames = kFrames);

  unsigned workers() const { return workers_; }

  /// Puts as many frames, in order, as there is room for, and returns how many. The rest stay the caller's.
  std::uint32_t put(Worker from, Worker to, std::span<const HandedFrame> frames);
  /// Takes up to frames.size() and returns how many.
  std::uint32_t take(Worker from, Worker to, std::span<HandedFrame> frames);

 private:
  rte_ring& ring(Worker from, Worker to) { return *rings_[from * workers_ + to]; }

  unsigned workers_;
  std::vector<FrameRing> rings_;  ///< none from a worker to itself
};

/// A pool for copies of RDMA-CM requests that are shown to another engine. Free it with rte_mempool_free(). Throws
/// std::runtime_error.
rte_mempool* make_shown_pool(int socket);

}  // namespace longhaul::steer
