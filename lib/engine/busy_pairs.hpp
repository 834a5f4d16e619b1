// SPDX-License-Identifier: BSD-3-Clause
// Which pairs of hosts a worker spends its time on, known connection or not, by samples: of one call in some, all the
// time counts for the pair of one of its frames. So the share of a pair in the samples is its share of the time, and
// usual calls cost nothing. What that frame asked for stands for all frames of the calls in the same way.
//
// The table is small. A pair that finds no place takes that of the pair with least time, whose time is forgotten.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "flow/key_index.hpp"

namespace longhaul::engine {

/// How a request from the host side was treated that asks for an ACK, where nothing counts it for its pair of hosts.
enum class Asked : std::uint8_t {
  nothing,      ///< another frame, or one that its flow has counted
  accelerated,  ///< it is in custody of a flow that was confirmed
  unconfirmed,  ///< it is in custody of another flow
  unknown,      ///< its connection is unknown
};
inline constexpr std::size_t kAsked = static_cast<std::size_t>(Asked::unknown) + 1;

/// The time that a worker spent for two hosts, from the host and from the WAN side.
struct BusyPair {
  flow::KeyIndex::Key hosts;                  ///< behind the host port, beyond the WAN port, VLAN tags; no QPN
  std::uint64_t ticks = 0;                    ///< of the TSC, extrapolated from the samples
  std::array<std::uint64_t, kAsked> asked{};  ///< frames by Asked, extrapolated too
};

class BusyPairs {
 public:
  static constexpr std::size_t kMost = 64;
  /// Calls for each sample.
  static constexpr std::uint32_t kCallsPerSample = 16;

  /// Whether this call is one to measure.
  [[gnu::always_inline]] bool samples_this_call() {
    if (--until_sample_ != 0) [[likely]]
      return false;
    until_sample_ = kCallsPerSample;
    return true;
  }
  /// One of `frames`, another one each time: that many samples take turns.
  std::size_t chosen_of(std::size_t frames) { return turn_++ % frames; }

  /// A measured call took `ticks` of the TSC, and the frame chosen of its `frames` is between these hosts.
  void note(const flow::KeyIndex::Key& hosts, std::uint64_t ticks, Asked asked = Asked::nothing,
            std::size_t frames = 1) {
    const std::span<BusyPair> used = std::span(pairs_).first(used_);
    auto pair = std::ranges::find(used, hosts, &BusyPair::hosts);
    if (pair == used.end()) {
      if (used_ < kMost)
        ++used_;  // and `pair` is in the table
      else
        pair = std::ranges::min_element(used, {}, &BusyPair::ticks);
      *pair = {hosts, 0, {}};
    }
    pair->ticks += kCallsPerSample * ticks;
    pair->asked[static_cast<std::size_t>(asked)] += kCallsPerSample * frames;
  }

  std::span<const BusyPair> pairs() const { return std::span(pairs_).first(used_); }
  void clear() { used_ = 0; }

 private:
  std::uint32_t until_sample_ = kCallsPerSample;
  std::uint32_t turn_ = 0;
  std::size_t used_ = 0;
  std::array<BusyPair, kMost> pairs_;
};

}  // namespace longhaul::engine
