// SPDX-License-Identifier: BSD-3-Clause
// A service of a host that anyone may ask for: each REQ gets a genuine REP and a queue pair of its own, which nobody
// ever uses. Where the REQ was forged, no RTU comes, and it gives up.
#pragma once

#include <list>

#include "sim/cm_agent.hpp"

namespace longhaul::sim {

/// What such a service is called, on both hosts.
inline constexpr std::uint64_t kListeningService = 0x4c697374;

class Listener {
 public:
  /// Each exchange is as `plan` says, with QPNs and communication IDs that count on from those in it.
  Listener(const CmPlan& plan, const wire::PacketBuilder& frame, Outlet& outlet)
      : plan_(plan), frame_(frame), outlet_(outlet) {}

  /// False when the message is none of its own.
  bool receive(const wire::CmMessage& message, Time now);
  Time next_deadline() const;
  void poll(Time now);

 private:
  CmPlan plan_;
  wire::PacketBuilder frame_;
  Outlet& outlet_;
  std::list<CmAgent> exchanges_;
};

}  // namespace longhaul::sim
