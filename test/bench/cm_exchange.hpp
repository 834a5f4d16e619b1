// SPDX-License-Identifier: BSD-3-Clause
// The two frames of RDMA-CM that tell a box of a connection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longhaul::bench {

/// A connection to set up. `number` keeps its communication and transaction IDs apart from those of others between the
/// same addresses.
struct CmExchange {
  std::uint32_t number = 0;
  std::string requester_ip;
  std::string responder_ip;
  std::uint32_t requester_qpn = 0;
  std::uint32_t responder_qpn = 0;
  std::uint32_t requester_starts_at = 0;  ///< PSN of the requester's first request
  std::uint32_t path_mtu = 4096;          ///< bytes: 256, 512, 1024, 2048 or 4096
};

/// The REQ, from requester to responder.
std::vector<std::uint8_t> cm_request(const CmExchange& exchange);
/// The REP that answers it.
std::vector<std::uint8_t> cm_reply(const CmExchange& exchange);

}  // namespace longhaul::bench
