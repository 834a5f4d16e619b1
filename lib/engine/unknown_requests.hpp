// SPDX-License-Identifier: BSD-3-Clause
// When requests of unknown connections last passed between two hosts, or such as may be of one, and roughly at which
// PSNs. One worker of a box sees the requests: the home of the hosts, or the owner of a known connection whose
// responder they name. Answers that may be meant for them can reach any worker.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/time.hpp"
#include "flow/traffic_learner.hpp"
#include "wire/frame.hpp"
#include "wire/psn.hpp"

namespace longhaul::engine {

/// Several may share a slot: then it says too much, never too little. For any number of threads. Their clocks
/// differ by the pauses of each, so the newest time that any of them has given counts for all.
class UnknownRequests {
 public:
  /// Two hosts: where requests come from, and where they go.
  struct Hosts {
    const wire::IpAddress& requester;
    const wire::IpAddress& responder;
    wire::VlanKey vlan;
  };

  /// One with `psn` has passed. For `life` from now on it may be answered; otherwise as long as a TrafficLearner
  /// remembers it.
  void note(const Hosts& hosts, std::uint32_t psn, Time now, Duration life = Learner::kCandidateLife) {
    const Time until = newest(now) + life;
    for (std::atomic<Time>* end : {&slots_[slot_of(hosts, stretch_of(psn, 0))], &last_})
      if (end->load(std::memory_order_relaxed) < until) end->store(until, std::memory_order_relaxed);
  }
  /// An ACK for `psn` may answer one of them. With `since`: one that passed then or later, of those noted with the
  /// usual `life`.
  bool may_be_meant(const Hosts& hosts, std::uint32_t psn, Time now, std::optional<Time> since = std::nullopt) {
    Time last = last_.load(std::memory_order_relaxed);
    if (last == 0) return false;
    now = newest(now);
    if (now >= last) {
      last_.compare_exchange_strong(last, 0);
      return false;
    }
    const auto lately = [&](std::int32_t ahead) {
      const Time until = slots_[slot_of(hosts, stretch_of(psn, ahead))].load(std::memory_order_relaxed);
      return now < until && (!since || until - Learner::kCandidateLife >= *since);
    };
    return lately(Learner::kMeantFrom) || lately(Learner::kMeantTo);
  }
  /// False: may_be_meant() is. Costs next to nothing.
  bool any() const { return last_.load(std::memory_order_relaxed) != 0; }

 private:
  using Learner = flow::TrafficLearner;
  static constexpr unsigned kSlotBits = 14;

  Time newest(Time now) {
    Time known = newest_.load(std::memory_order_relaxed);
    while (known < now && !newest_.compare_exchange_weak(known, now, std::memory_order_relaxed)) {
    }
    return std::max(known, now);
  }

  static std::uint32_t stretch_of(std::uint32_t psn, std::int32_t ahead) {
    return wire::psn_add(psn, ahead) >> Learner::kStretchBits;
  }
  static std::size_t slot_of(const Hosts& hosts, std::uint32_t stretch) {
    std::uint64_t mixed = std::uint64_t{hosts.vlan.value} << 32 | stretch;
    for (const wire::IpAddress* address : {&hosts.requester, &hosts.responder}) {
      std::uint64_t halves[2];
      std::memcpy(halves, address->bytes.data(), sizeof(halves));
      for (const std::uint64_t half : halves) mixed = (mixed ^ half) * 0x9e37'79b9'7f4a'7c15;  // Fibonacci hashing
    }
    return mixed >> (64 - kSlotBits);
  }

  std::atomic<Time> newest_ = 0;  ///< that any clock has shown
  /// When what was noted of such requests ends.
  std::array<std::atomic<Time>, std::size_t{1} << kSlotBits> slots_{};
  std::atomic<Time> last_ = 0;  ///< of all slots; 0: all have ended
};

}  // namespace longhaul::engine
