// SPDX-License-Identifier: BSD-3-Clause
// How many packets a flow may have under way on a path that loses some, or to a responder that is out of receives. The
// responder discards everything behind a gap or an RNR NAK. So packets far beyond the next loss are sent in vain, in
// bursts that cause more losses. A flow that has lost nothing has no limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace longhaul::custody {

class LossWindow {
 public:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  /// The responder answered another packet.
  void on_delivered() { run_ = std::min(run_ + 1, kMostCounted); }

  /// Something was lost: custody is sent again.
  void on_loss() {
    average_ = average_ == kNoLoss ? std::max(run_, kUnknown) : (average_ + run_) / 2;
    run_ = 0;
  }

  /// Three times the packets that come through between two losses: with random losses, 95 % of what an unlimited window
  /// would deliver. More where losses are frequent, but few where nearly everything is lost.
  [[gnu::always_inline]] std::uint64_t packets() const {
    if (average_ == kNoLoss) return kUnlimited;
    const std::uint64_t run = std::max(average_, run_);
    return std::max(3 * run, std::clamp(16 * run, kLeast, kMany));
  }

 private:
  // Flows that overload a link fit into its queue in the end. With 64, each resend filled it again, and they went on by
  // a packet in seconds.
  static constexpr std::uint64_t kLeast = 8;
  static constexpr std::uint64_t kMany = 64;     // on a path that loses a tenth
  static constexpr std::uint32_t kUnknown = 21;  // one early loss says little
  static constexpr std::uint32_t kNoLoss = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kMostCounted = 1 << 24;  // more than any custody has

  std::uint32_t run_ = 0;            // packets answered since the last loss
  std::uint32_t average_ = kNoLoss;  // of the runs before, the newest counting half
};

}  // namespace longhaul::custody
