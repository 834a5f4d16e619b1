// SPDX-License-Identifier: BSD-3-Clause
// Congestion notification packets (CNPs): which of them a box makes for its own hosts, and what it does with those that
// come from the WAN. Part of the near part (congestion.cpp).
#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace longhaul::custody {

/// What the box does with a CNP that the responder sent for a flow with acknowledged packets in custody. It obeys it in
/// either case.
enum class WanCnps : std::uint8_t {
  pass,    ///< it also goes on to the requester
  absorb,  ///< the requester has been told that these packets arrived: the box alone deals with it
};

struct CnpSettings {
  bool send = true;                      ///< make CNPs for requesters of this side
  Duration interval = microseconds(50);  ///< one for each flow in this time at most; more than 0
  std::uint8_t dscp = 48;                ///< of the CNPs that are made
  WanCnps from_wan = WanCnps::pass;
  /// Frame bytes of a flow that may always wait. The default is no configuration's affair: a flow's turn at the WAN has
  /// half as many.
  std::uint64_t least_backlog = 19456;
};

/// Of a flow: how much its requester is to slow down.
struct CnpControl {
  Time sent_at = 0;    ///< when the last CNP was made; 0: none was
  Time looked_at = 0;  ///< when `pressure` was last worked out
  float pressure = 0;  ///< from 0, no CNPs, to 1, as many as may be
  float backlog = 0;   ///< then, relative to what it may be
};

}  // namespace longhaul::custody
