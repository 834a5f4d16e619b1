// SPDX-License-Identifier: BSD-3-Clause
// A service of a host that anyone may connect to: each REQ gets a genuine REP and a queue pair of its own, which is
// never used. After a forged REQ no RTU comes, and the exchange gives up.
#pragma once

#include <list>

#include "sim/cm_agent.hpp"

namespace longhaul::sim {

/// The ID of this service, on both hosts.
inline constexpr std::uint64_t kListeningService = 0x4c697374;

class Listener {
 public:
  /// Each exchange follows `plan`, with QPNs and communication IDs that count up from the plan's.
  Listener(const CmPlan& plan, const wire::PacketBuilder& frame, Outlet& outlet)
      : plan_(plan), frame_(frame), outlet_(outlet) {}

  /// False when the message is not for this service.
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
