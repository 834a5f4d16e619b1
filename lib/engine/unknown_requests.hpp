// SPDX-License-Identifier: BSD-3-Clause
// When requests that belong, or may belong, to an unknown connection last passed between two hosts, and roughly at
// which PSNs. Only one worker of a box sees such a request: the home of the hosts, or the owner of a known connection
// whose responder it names. Its answer can reach any worker.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/hash_secret.hpp"
#include "base/time.hpp"
#include "flow/traffic_learner.hpp"
#include "wire/frame.hpp"
#include "wire/psn.hpp"

namespace longhaul::engine {

/// Different requests may share a slot, which then says too much, never too little. Any number of threads may use it.
/// Their clocks differ by the pauses of each, so the newest time that any thread has given counts for all.
class UnknownRequests {
 public:
  /// Two hosts: where requests come from, and where they go.
  struct Hosts {
    const wire::IpAddress& requester;
    const wire::IpAddress& responder;
    wire::VlanKey vlan;
  };

  /// Of a request whose answer may have any UDP source port.
  static constexpr std::uint16_t kAnyPort = 0;

  /// A request with `psn` has passed. It may be answered for `life` from now on, by default as long as a TrafficLearner
  /// remembers it, from UDP source port `port`.
  void note(const Hosts& hosts, std::uint32_t psn, Time now, Duration life = Learner::kCandidateLife,
            std::uint16_t port = kAnyPort) {
    const Time until = newest(now) + life;
    for (std::atomic<Time>* end : {&slots_[slot_of(hosts, stretch_of(psn, 0), port)], &last_})
      if (end->load(std::memory_order_relaxed) < until) end->store(until, std::memory_order_relaxed);
  }
  /// An ACK for `psn` may answer a request noted here, for any port or for `port`, which is its own. With `since`: one
  /// that passed then or later. (This needs requests that were all noted with the default `life`.)
  bool may_be_meant(const Hosts& hosts, std::uint32_t psn, Time now, std::optional<Time> since = std::nullopt,
                    std::uint16_t port = kAnyPort) {
    Time last = last_.load(std::memory_order_relaxed);
    if (last == 0) return false;
    now = newest(now);
    if (now >= last) {
      last_.compare_exchange_strong(last, 0);
      return false;
    }
    const auto lately = [&](std::int32_t ahead, std::uint16_t from) {
      const Time until = slots_[slot_of(hosts, stretch_of(psn, ahead), from)].load(std::memory_order_relaxed);
      return now < until && (!since || until - Learner::kCandidateLife >= *since);
    };
    const auto noted = [&](std::uint16_t from) {
      return lately(Learner::kMeantFrom, from) || lately(Learner::kMeantTo, from);
    };
    return noted(kAnyPort) || (port != kAnyPort && noted(port));
  }
  /// When this is false, so is may_be_meant(). Costs next to nothing.
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
  std::size_t slot_of(const Hosts& hosts, std::uint32_t stretch, std::uint16_t port) const {
    const std::uint64_t numbers = std::uint64_t{hosts.vlan.value} << 32 | std::uint32_t{port} << 16 | stretch;
    std::uint64_t mixed = mix_keyed(secret_, numbers, secret_);
    for (const wire::IpAddress* address : {&hosts.requester, &hosts.responder}) {
      std::uint64_t halves[2];
      std::memcpy(halves, address->bytes.data(), sizeof(halves));
      for (const std::uint64_t half : halves) mixed = mix_keyed(mixed, half, secret_);
    }
    return mixed >> (64 - kSlotBits);
  }

  const std::uint64_t secret_ = hash_secret();
  std::atomic<Time> newest_ = 0;  ///< time that any clock has shown
  /// Until when the requests of each slot may be answered.
  std::array<std::atomic<Time>, std::size_t{1} << kSlotBits> slots_{};
  std::atomic<Time> last_ = 0;  ///< the latest of all slots; 0: all have passed
};

}  // namespace longhaul::engine
