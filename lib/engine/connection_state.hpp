// SPDX-License-Identifier: BSD-3-Clause
// A connection as an operator sees it: a copy, made while the engine goes on.
#pragma once

#include <cstdint>

#include "base/plain_cause.hpp"
#include "custody/near_flow.hpp"
#include "flow/connection.hpp"

namespace longhaul::engine {

struct ConnectionState {
  std::uint64_t serial = 0;  ///< unique in the process
  flow::ConnectionInfo info;
  bool from_traffic = false;  ///< learned from its traffic, not from RDMA-CM
  bool closing = false;       ///< a DREQ has passed or waits for custody
  bool trusted = true;        ///< false: an answer contradicted the count; nothing is acknowledged any more
  custody::Phase phase = custody::Phase::unconfirmed;
  flow::Policy policy = flow::Policy::off;       ///< of what is in custody
  flow::Policy next_policy = flow::Policy::off;  ///< from the next stretch of custody on
  std::uint64_t custody_packets = 0;
  std::uint64_t custody_bytes = 0;      ///< frame bytes
  std::uint64_t unconfirmed_bytes = 0;  ///< part of custody_bytes acknowledged to the requester
  std::uint64_t taken_bytes = 0;        ///< frame bytes ever taken into custody
  std::uint64_t refused_requests = 0;   ///< ever passed without custody, which had no room for them
  ByPlainCause<std::uint32_t> plain{};  ///< SENDs and WRITEs with AckReq that ever passed plain, by cause
  std::uint64_t lost_bytes = 0;         ///< of a failed flow: acknowledged and not delivered
  Duration oldest = 0;                  ///< since custody last made progress; 0 when it is empty
  Duration idle = 0;                    ///< since the last frame
  Duration round_trip = 0;              ///< smoothed; 0 when none was measured
  std::uint32_t una = 0;                ///< first PSN that the responder has not answered
  std::uint32_t msn = 0;                ///< the responder's, of an ACK for una - 1, as far as it was counted
  std::uint32_t h = 0;                  ///< first PSN that nobody has acknowledged to the requester
  std::uint32_t tail = 0;               ///< first PSN after custody
};

}  // namespace longhaul::engine
