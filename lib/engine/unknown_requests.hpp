// SPDX-License-Identifier: BSD-3-Clause
// When requests of connections that nobody knows last passed between two hosts. Such frames come to one worker of a
// box, the home of the hosts; their connections, and ACKs that may not be theirs, to any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flow/time.hpp"
#include "flow/traffic_learner.hpp"
#include "wire/frame.hpp"

namespace longhaul::engine {

/// Two pairs of hosts may share a slot: then it says too much, never too little. For any number of threads.
class UnknownRequests {
 public:
  void note(const wire::IpAddress& from, const wire::IpAddress& to, Time now) {
    std::atomic<Time>& slot = slots_[slot_of(from, to)];
    if (slot.load(std::memory_order_relaxed) != now) slot.store(now, std::memory_order_relaxed);
  }
  /// Lately: as long as a TrafficLearner remembers them.
  bool lately(const wire::IpAddress& from, const wire::IpAddress& to, Time now) const {
    const Time at = slots_[slot_of(from, to)].load(std::memory_order_relaxed);
    return at != 0 && now - at < flow::TrafficLearner::kCandidateLife;
  }

 private:
  static constexpr unsigned kSlotBits = 10;

  static std::size_t slot_of(const wire::IpAddress& from, const wire::IpAddress& to) {
    std::uint64_t mixed = 0;
    for (const wire::IpAddress* address : {&from, &to}) {
      std::uint64_t halves[2];
      std::memcpy(halves, address->bytes.data(), sizeof(halves));
      for (const std::uint64_t half : halves) mixed = (mixed ^ half) * 0x9e37'79b9'7f4a'7c15;  // Fibonacci hashing
    }
    return mixed >> (64 - kSlotBits);
  }

  std::array<std::atomic<Time>, std::size_t{1} << kSlotBits> slots_{};
};

}  // namespace longhaul::engine
