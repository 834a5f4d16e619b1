// SPDX-License-Identifier: BSD-3-Clause
#include "sim/box_holds.hpp"

#include <algorithm>
#include <vector>

#include "engine/connection_state.hpp"

namespace longhaul::sim {

namespace {

std::vector<engine::ConnectionState> connections_of(const Box& box, Time now) {
  std::vector<engine::ConnectionState> all;
  for (const auto& worker : box.workers()) worker->engine().describe(0, worker->engine().connection_slots(), now, all);
  return all;
}

}  // namespace

BoxHolds holdings_of(const Box& box) {
  BoxHolds holds;
  holds.connections = connections_of(box, 0).size();
  holds.custody_packets = box.custody_packets();
  holds.waiting_frames = box.waiting_frames();
  return holds;
}

bool holds_unpromised(const Box& box, Time now) {
  return std::ranges::any_of(connections_of(box, now), [](const engine::ConnectionState& connection) {
    return connection.custody_packets != 0 && connection.unconfirmed_bytes == 0;
  });
}

}  // namespace longhaul::sim
