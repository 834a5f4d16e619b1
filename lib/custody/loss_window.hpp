// SPDX-License-Identifier: BSD-3-Clause
// How many packets a flow may have under way on a path that loses some, or to a responder that is out of receives. It
// discards everything behind a gap or an RNR NAK, so what is sent far beyond the next is sent in vain, in bursts that
// cause losses of their own. A flow that has lost nothing has no limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace longhaul::custody {

class LossWindow {
 public:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  /// The responder answered another packet.
  void on_delivered() { ++run_; }

  /// Something was lost: custody is sent again.
  void on_loss() {
    average_ = lossy_ ? (average_ + run_) / 2 : run_;
    lossy_ = true;
    run_ = 0;
  }

  /// Three times the packets that come through between two losses: with random losses, 95 % of what an unlimited window
  /// would deliver.
  std::uint64_t packets() const {
    if (!lossy_) return kUnlimited;
    return std::max<std::uint64_t>(kLeast, 3 * std::max(average_, run_));
  }

 private:
  static constexpr std::uint64_t kLeast = 64;

  std::uint64_t run_ = 0;      // packets answered since the last loss
  std::uint64_t average_ = 0;  // of the runs before, the newest counting half
  bool lossy_ = false;
};

}  // namespace longhaul::custody
