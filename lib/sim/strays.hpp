// SPDX-License-Identifier: BSD-3-Clause
// Frames beside the connections: those of other protocols, which must pass, and forged ones that a box can tell from
// real ones, which must change nothing.
#pragma once

#include <vector>

#include "base/time.hpp"
#include "sim/frames.hpp"
#include "sim/random.hpp"
#include "wire/builder.hpp"

namespace longhaul::sim {

/// A queue pair that forgers know: of the host they pretend to be, and the one they write to.
struct Target {
  std::uint32_t own_qpn = 0;
  std::uint32_t peer_qpn = 0;
  std::uint32_t own_psn = 0;   ///< its requester's first
  std::uint32_t peer_psn = 0;  ///< the same of the other
};

/// How often, a little irregularly; 0: never.
struct StrayPlan {
  Duration foreign = 0;  ///< a frame that concerns nobody
  Duration forged = 0;   ///< a forged one
  bool reads = false;    ///< among them READs that a responder would take for repeats
};

class Strays {
 public:
  Strays(const StrayPlan& plan, const wire::PacketBuilder& frame, std::vector<Target> targets, std::uint64_t seed,
         std::uint64_t who, Outlet& outlet, Time start);

  Time next_deadline() const { return next_foreign_ < next_forged_ ? next_foreign_ : next_forged_; }
  void poll(Time now);
  /// Others to forge frames of, from then on.
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
