// SPDX-License-Identifier: BSD-3-Clause
// DCQCN's notification point: a responder that receives frames marked "congestion" tells their requester by CNPs (IBTA
// Annex A17; Zhu et al., SIGCOMM 2015, section 3.1).
#pragma once

#include "base/time.hpp"
#include "sim/frames.hpp"
#include "wire/builder.hpp"

namespace longhaul::sim {

class NotificationPoint {
 public:
  /// `frame` has the addresses and the QPN of the requester. At most one CNP goes out in each `interval`; 0: none does.
  NotificationPoint(Duration interval, const wire::PacketBuilder& frame, Outlet& outlet)
      : interval_(interval), frame_(frame), outlet_(outlet) {}

  void receive(const View& view, Time now) {
    if (interval_ == 0 || now < next_ || !view.frame.congestion_experienced()) return;
    next_ = now + interval_;
    // As captured on a ConnectX-4 Lx (scapy's tests, roce.uts): DSCP 48, ECT(0), BECN, MigReq clear.
    constexpr std::uint8_t kTos = 0xc2;
    constexpr std::uint8_t kReserved[16] = {};
    wire::PacketBuilder builder = frame_;
    outlet_.put(builder.opcode(wire::kCnp).psn(0).tos(kTos).migreq(false).becn().payload(kReserved).build());
  }

 private:
  Duration interval_;
  wire::PacketBuilder frame_;
  Outlet& outlet_;
  Time next_ = 0;
};

}  // namespace longhaul::sim
