// SPDX-License-Identifier: BSD-3-Clause
// What goes through a device and is checked where it comes out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/side.hpp"
#include "wire/frame.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace longhaul::bench {

class Device;

/// The first few errors.
class Errors {
 public:
  void add(const std::string& what) {
    if (list_.size() < kMost) list_.push_back(what);
  }
  bool empty() const { return list_.empty(); }
  const std::vector<std::string>& list() const { return list_; }

 private:
  static constexpr std::size_t kMost = 10;
  std::vector<std::string> list_;
};

/// Frames to be put into a device's ports.
struct Offer {
  BySide<std::vector<rte_mbuf*>> frames;  ///< by the side where they go in
  std::uint64_t packets = 0;              ///< how many of them count as the workload's packets
  std::uint64_t bytes = 0;                ///< bytes of these packets
  void clear();
  std::uint64_t size() const { return frames[Side::host].size() + frames[Side::wan].size(); }
};

enum class Part : std::uint8_t { all, requests, answers };

/// Looks at each chunk where it goes in and where it comes out.
class ChunkObserver {
 public:
  virtual ~ChunkObserver() = default;
  /// `offer` is about to be put into the ports.
  virtual void before(const Offer& offer) = 0;
  /// The chunk is in the ports, and the device knows.
  virtual void put_in() = 0;
  /// All frames that left by `out`, in order, before they are freed. The device is done with the chunk.
  virtual void came_out(Side out, std::span<rte_mbuf* const> frames) = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;
  /// Adds up to `budget` frames to each side of `offer`. Throws std::runtime_error if the pool is empty.
  virtual void offer(Part part, std::size_t budget, Offer& offer) = 0;
  /// A frame left the device by `out`. `parsed` is the result of wire::parse(). Returns false if the frame is not this
  /// stream's. The mbuf stays the caller's.
  virtual bool take(Side out, wire::ParseStatus status, const wire::Frame& parsed, const rte_mbuf* mbuf) = 0;
  /// The device is done with everything it was given. Frames that should have come out and have not are reported as
  /// errors.
  virtual void after_chunk() = 0;

  /// Packets that have passed, and whose answers have not been offered yet.
  virtual std::uint64_t pending() const { return 0; }
  /// How many of these are kept back, as by a long haul.
  virtual void set_lag(std::uint64_t packets) {}
  /// Packets whose sender has no answer yet.
  virtual std::uint64_t unanswered() const { return 0; }
};

}  // namespace longhaul::bench
