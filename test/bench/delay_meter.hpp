// SPDX-License-Identifier: BSD-3-Clause
// How long each request of a session waits: from its arrival at the host port until the device sends the frame that
// answers it.
#pragma once

#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/side.hpp"
#include "test/bench/paced_ports.hpp"
#include "test/bench/roce_stream.hpp"
#include "test/bench/stream.hpp"

namespace longhaul::bench {

/// Delays in TSC cycles, and what disturbed the device's thread while they were taken.
struct Delays {
  std::vector<std::uint32_t> undisturbed;  ///< in chunks that nothing disturbed
  std::vector<std::uint32_t> preempted;    ///< in chunks in which the kernel gave the core to another thread
  std::vector<std::uint32_t> paused;       ///< in other chunks in which the loop stood still (PacedPorts::Pauses)
  std::uint64_t chunks = 0;
  std::uint64_t chunks_preempted = 0;
  std::uint64_t chunks_paused = 0;
  std::uint64_t longest_pause = 0;
  std::uint64_t chunks_late = 0;  ///< not in the others: generator or device had no core when they began
  double seconds = 0;             ///< time in which chunks arrived

  void add(const Delays& more);
};

class DelayMeter final : public ChunkObserver {
 public:
  /// `answered_at` is the side where the frame that ends the wait comes out: host for a pseudo-ACK, WAN for the request
  /// itself. All references must outlive it.
  DelayMeter(PacedPorts& ports, const Device& device, const RoceStream& stream, Side answered_at)
      : ports_(ports), device_(device), stream_(stream), answered_at_(answered_at) {}

  /// From now on frames arrive at each side every `cycles` TSC cycles on average, at random (a Poisson process).
  void set_interval(double cycles) { interval_ = cycles; }

  void before(const Offer& offer) override;
  void put_in() override;
  void came_out(Side out, std::span<rte_mbuf* const> frames) override;

  const Delays& delays() const { return delays_; }
  /// Requests without an answer.
  std::uint64_t missing() const { return missing_; }

 private:
  std::optional<std::uint64_t> key_of(Side out, const rte_mbuf* mbuf) const;
  std::vector<std::uint64_t> arrivals(std::size_t count);

  PacedPorts& ports_;
  const Device& device_;
  const RoceStream& stream_;
  const Side answered_at_;
  double interval_ = 0;
  std::mt19937_64 random_{1};
  BySide<std::vector<std::uint64_t>> due_;                    ///< times of the chunk's frames, from its begin
  std::unordered_map<std::uint64_t, std::uint64_t> waiting_;  ///< the same times, by flow and PSN
  std::uint64_t begin_ = 0;
  bool late_ = false;  ///< generator or device had no core when the chunk began
  Delays delays_;
  std::uint64_t missing_ = 0;
};

}  // namespace longhaul::bench
