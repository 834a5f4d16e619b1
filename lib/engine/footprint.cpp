// SPDX-License-Identifier: BSD-3-Clause
#include "engine/footprint.hpp"

#include "engine/engine_impl.hpp"

namespace longhaul::engine {

std::uint64_t bytes_per_connection() {
  // Beside the connection: slot in the table, places in the lane's index, free list, timer, lists of the burst and of
  // both backlogs, the pair of its hosts.
  return sizeof(Connection) + sizeof(flow::ConnectionInfo) + 8 + flow::LaneIndex::kBytesPerConnection +
         sizeof(flow::ConnectionIndex) + sizeof(flow::ConnectionIndex) + TimerWheel::kBytesPerTimer +
         NextHops::bytes_per_pair() + 2 * (Backlog::kBytesPerConnection + Backlog::bytes_per_pair()) +
         FairLimit::kBytesPerPair + sizeof(custody::Holding);
}

}  // namespace longhaul::engine
