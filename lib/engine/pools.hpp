// SPDX-License-Identifier: BSD-3-Clause
// The mbuf pools a box needs. All of longhaul's mbufs carry custody's bookkeeping in their private area,
// so every pool is made here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

struct rte_mempool;

namespace longhaul::engine {

struct PoolPlan {
  std::string name = "longhaul";       ///< prefix of the pools' names, unique in the process
  std::uint32_t frame_bytes = 9600;    ///< largest frame a port may receive
  std::uint32_t frames = 32768;        ///< mbufs for received frames: custody, rings and bursts
  std::uint32_t small_frames = 65536;  ///< small buffers: copies of small frames in custody, and of held DREQs
  std::uint32_t made_frames = 4096;    ///< buffers for the ACKs and NAKs that the box makes: custody cannot use them up
  int socket = -1;                     ///< NUMA socket, -1 for any

  std::uint64_t page_bytes = 4096;  ///< of the memory given to DPDK: 2 MiB and more with hugepages

  std::uint32_t frames_reserve =
      8192;  ///< of `frames`, not for custody: both ports' rings, bursts, what waits, made frames
  std::uint32_t cache_reserve = 0;  ///< of each small size, not for custody: in caches of other workers

  /// Of `small_frames` buffers of the largest small size, those that may hold DREQs that wait for custody.
  static constexpr std::uint32_t dreqs_of(std::uint32_t small_frames) { return small_frames / 16; }
};

/// Buffers of one size.
struct BufferClass {
  std::string name;                ///< "receive", "small_256"
  std::uint32_t frame_bytes = 0;   ///< largest frame that fits
  std::uint32_t buffers = 0;       ///< all of them
  std::uint32_t reserve = 0;       ///< part of `buffers` that custody may not use
  std::uint64_t buffer_bytes = 0;  ///< memory that one takes, bookkeeping included
};

/// Owned by the EAL; freed with destroy().
struct Pools {
  rte_mempool* frames = nullptr;        ///< what ports receive into
  std::array<rte_mempool*, 2> small{};  ///< buffers of kSmallBytes each, smallest first
  static constexpr std::array<std::uint32_t, 2> kSmallBytes = {256, 1280};
  rte_mempool* made = nullptr;  ///< for frames that the box makes, kMadeBytes each
  static constexpr std::uint32_t kMadeBytes = 256;
  /// Free buffers of a pool that one worker may keep from the others: its lcore's cache, and a stash.
  static constexpr std::uint32_t kKeptByWorker = 448;

  /// Makes the pools. Throws std::runtime_error that says how much memory was wanted when they do not fit.
  static Pools create(const PoolPlan& plan);
  /// Bytes that create() will take from the EAL, to size its memory beforehand.
  static std::uint64_t bytes_needed(const PoolPlan& plan);
  /// The pools as create() will make them, in the order in which custody tries them for a frame: each holds what fits
  /// and did not fit the one before. Ports receive into the last one.
  static std::vector<BufferClass> classes(const PoolPlan& plan);
  /// Buffers for made frames, with those in caches of other workers, and the memory that they take.
  static std::uint32_t made_buffers(const PoolPlan& plan);
  static std::uint64_t made_bytes(const PoolPlan& plan);
  void destroy() noexcept;
};

}  // namespace longhaul::engine
