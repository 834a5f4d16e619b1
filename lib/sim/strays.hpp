// SPDX-License-Identifier: BSD-3-Clause
// Frames beside the connections: frames of other protocols, which must pass, and forged frames that a box can tell from
// real ones, which must change nothing.
#pragma once

#include <vector>

#include "base/time.hpp"
#include "sim/frames.hpp"
#include "sim/random.hpp"
#include "wire/builder.hpp"

namespace longhaul::sim {

/// A queue pair that forgers know, seen from the host that they pretend to be.
struct Target {
  std::uint32_t own_qpn = 0;
  std::uint32_t peer_qpn = 0;
  std::uint32_t own_psn = 0;   ///< first PSN of its requester
  std::uint32_t peer_psn = 0;  ///< first PSN of the peer's requester
};

/// Intervals, slightly irregular; 0: never.
struct StrayPlan {
  Duration foreign = 0;  ///< frames that concern no connection
  Duration forged = 0;   ///< forged frames
  bool reads = false;    ///< the forged frames include READs that a responder would take for repeats
};

class Strays {
 public:
  Strays(const StrayPlan& plan, const wire::PacketBuilder& frame, std::vector<Target> targets, std::uint64_t seed,
         std::uint64_t who, Outlet& outlet, Time start);

  Time next_deadline() const { return next_foreign_ < next_forged_ ? next_foreign_ : next_forged_; }
  void poll(Time now);
  /// New targets for forged frames, from then on.
  void aim(std::vector<Target> targets, Time from);
  void stop() { next_foreign_ = next_forged_ = kNever; }
  std::uint64_t forged() const { return forged_count_; }

 private:
  void begin(Time from);
  std::vector<std::uint8_t> make_foreign();
  std::vector<std::uint8_t> make_forged();

  StrayPlan plan_;
  wire::PacketBuilder frame_;
  std::vector<Target> targets_;
  Random random_;
  Outlet& outlet_;
  Time next_foreign_ = kNever;
  Time next_forged_ = kNever;
  std::uint32_t number_ = 0;
  std::uint64_t forged_count_ = 0;
  std::uint64_t polls_ = 0;
};

}  // namespace longhaul::sim
