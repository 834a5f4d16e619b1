// SPDX-License-Identifier: BSD-3-Clause
#include "steer/restored_owners.hpp"

namespace longhaul::steer {

void remember_owners(std::span<const custody::RecordSlot> part, Worker owner, std::span<Steering* const> steerings,
                     Time now) {
  for (const custody::RecordSlot& slot : part) {
    if (slot.state() != custody::RecordSlot::State::owing) continue;
    const flow::ConnectionInfo info = slot.connection().info();
    const Worker home =
        home_of(info.end(Side::host).ip, info.end(Side::wan).ip, static_cast<unsigned>(steerings.size()));
    steerings[home]->restore(info, slot.connection().exchange(), owner, now);
  }
}

}  // namespace longhaul::steer
