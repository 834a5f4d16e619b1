// SPDX-License-Identifier: BSD-3-Clause
// Connections of many hosts through one box: their addresses, QPNs, PSNs and how they are set up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flow/side.hpp"
#include "test/bench/cm_exchange.hpp"
#include "test/bench/frame_template.hpp"
#include "wire/builder.hpp"

namespace longhaul::bench {

/// One direction of requests of one connection.
struct FlowEnds {
  std::string requester_ip;
  std::string responder_ip;
  std::uint32_t requester_qpn;
  std::uint32_t responder_qpn;
  std::uint32_t start_psn;  ///< of the first request

  /// To the responder, or back; opcode and the rest are the caller's.
  wire::PacketBuilder request() const;
  wire::PacketBuilder answer() const;
};

/// `count` flows between up to 16 requesters and 16 responders; in 1 of 16 the PSNs wrap within the first 4096.
std::vector<FlowEnds> make_flows(std::uint32_t count);

/// The RDMA-CM exchange that flow number `i` begins with. `path_mtu` encoded, 1 to 5.
CmExchange exchange_of(const FlowEnds& flow, std::uint32_t i, std::uint8_t path_mtu);

/// The numbers 0 to count-1, shuffled, the same each time.
std::vector<std::uint32_t> shuffled(std::uint32_t count);

}  // namespace longhaul::bench
