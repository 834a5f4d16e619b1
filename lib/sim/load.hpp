// SPDX-License-Identifier: BSD-3-Clause
// Steady traffic beside the connections, which concerns no box. It takes its part of the link and reacts to nothing.
#pragma once

#include "base/time.hpp"
#include "sim/frames.hpp"
#include "sim/line_time.hpp"
#include "wire/builder.hpp"

namespace longhaul::sim {

struct LoadPlan {
  std::uint64_t mbps = 0;        ///< of frames without line overhead; 0: none
  std::uint32_t payload = 1024;  ///< bytes
  Time from = 0;
  Time until = kNever;
};

class Load {
 public:
  /// `frame` has the addresses set.
  Load(const LoadPlan& plan, const wire::PacketBuilder& frame, Outlet& outlet);

  Time next_deadline() const { return next_; }
  void poll(Time now);
  void stop() { next_ = kNever; }

 private:
  LoadPlan plan_;
  wire::PacketBuilder frame_;
  Outlet& outlet_;
  Time next_;
  LineTime line_;
  std::uint32_t number_ = 0;
};

}  // namespace longhaul::sim
