// SPDX-License-Identifier: BSD-3-Clause
// Sends a capture through a box, with the capture's own timing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "replay/ack_comparison.hpp"
#include "replay/annotator.hpp"
#include "replay/collector.hpp"
#include "replay/conversations.hpp"
#include "replay/explainer.hpp"
#include "replay/near_hosts.hpp"

namespace longhaul::replay {

/// The state at the end of a replay. Time stops with the last frame: anything that waits for a later moment (a resend,
/// a held DREQ) is reported as waiting. If time ran on, the report would show how the box treats hosts that have fallen
/// silent, which is not in the capture.
struct Result {
  std::uint64_t frames = 0;
  std::uint64_t truncated = 0;         ///< cut by the capture's snap length; passed unchanged
  std::uint64_t roce = 0;              ///< RoCE frames of any kind, wrong ICRC included
  std::uint64_t rc = 0;                ///< of those, frames of reliable connections
  std::uint64_t icrc_bad = 0;          ///< of all RoCE frames, learned or not
  std::uint64_t clock_steps_back = 0;  ///< frames older than the one before, handled at the time of the one before
  std::uint64_t emitted_host = 0;
  std::uint64_t emitted_wan = 0;
  std::uint64_t waiting = 0;
  std::uint64_t custody_left_packets = 0;
  std::uint64_t custody_left_bytes = 0;
  Counters counters;
  std::vector<Conversation> conversations;
};

class Runner {
 public:
  /// All but the first must outlive the runner. `annotator`, if there is one, is told of each frame; it is then the
  /// output too, or stands before it. `explain`: for explanation().
  Runner(const engine::Settings& settings, const engine::Pools& pools, std::vector<flow::Prefix> near, Output& output,
         Annotator* annotator = nullptr, bool explain = false);

  /// The next frame of the capture, of `original_size` bytes, of which the capture may have the beginning only. Throws
  /// std::runtime_error when there is no buffer for it.
  void feed(std::span<const std::uint8_t> frame, std::uint32_t original_size, Time at);

  Result finish();
  const AckComparison& comparison() const { return comparison_; }
  /// Null unless it was asked for. After finish().
  Explainer* explanation() { return explainer_ ? &*explainer_ : nullptr; }

 private:
  void run_timers(Time until);
  rte_mbuf* to_mbuf(std::span<const std::uint8_t> frame);

  const engine::Pools& pools_;
  NearHosts near_;
  Conversations conversations_;
  AckComparison comparison_;
  std::optional<Explainer> explainer_;
  Annotator* annotator_;
  Collector collector_;
  engine::Engine engine_;  // after the members that it refers to
  Fates fates_;
  Result result_;
  Time now_ = 0;
};

/// Whether every frame of the capture is accounted for: sent on, or not sent on for a named reason.
bool sums_to_input(const Result& result);

/// False when no flow has the policy full. Then nothing is compared: not every ACK has a pseudo-ACK.
bool any_policy_full(const flow::PolicyTable& policies);

}  // namespace longhaul::replay
