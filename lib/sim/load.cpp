// SPDX-License-Identifier: BSD-3-Clause
#include "sim/load.hpp"

namespace longhaul::sim {

Load::Load(const LoadPlan& plan, const wire::PacketBuilder& frame, Outlet& outlet)
    : plan_(plan), frame_(frame), outlet_(outlet), next_(plan.mbps == 0 ? kNever : plan.from), line_(plan.mbps) {
  constexpr std::uint32_t kNobody = 0x99;
  frame_.opcode(wire::kUdSendOnly).qpn(kNobody).payload_size(plan.payload);
}

void Load::poll(Time now) {
  while (next_ <= now) {
    if (next_ >= plan_.until) return stop();
    const auto bytes = frame_.psn(++number_ & 0xffffff).build();
    outlet_.put(bytes);
    next_ += line_.next(bytes.size() * 8);
  }
}

}  // namespace longhaul::sim
