// SPDX-License-Identifier: BSD-3-Clause
// The throughput of a scenario by formula: the least of what the line, the hosts and the window allow. docs/plan.md has
// the formulas, and the published figures that they are compared with.
#pragma once

#include <string_view>

#include "plan/scenario.hpp"

namespace longhaul::plan {

/// What a throughput is limited by.
enum class Limit : std::uint8_t { line, depth, nic_depth, read_depth, message_time, local_loop, box };
/// For people: "work requests posted", "work requests in the NIC (LOG_MAX_OUTSTANDING_WQE)".
std::string_view name_of(Limit limit);
/// For programs and narrow columns: "depth", "nic_depth".
std::string_view key_of(Limit limit);

std::string_view name_of(Operation operation);

struct Prediction {
  double messages_per_second = 0;  ///< of all QPs
  double bits_per_second = 0;      ///< of payload
  Limit limit = Limit::line;
};

/// Throws std::invalid_argument for impossible hosts: a moderation above the depth, no QP, no depth, no rate.
Prediction predict(const Scenario& scenario);

/// Messages of a QP under way at once, and their limit: depth, nic_depth or read_depth.
struct Outstanding {
  std::uint32_t messages = 0;
  Limit limit = Limit::depth;
};
Outstanding outstanding(Operation operation, const Hosts& hosts);

/// Bits per second of payload that the line can carry in these messages; cap_bps if the scenario has one.
double line_cap(const Scenario& scenario);

/// Seconds that one message takes with nothing else under way.
struct Latency {
  double delivered = 0;  ///< until its data has arrived, as perftest's *_lat shows (READ: both ways)
  double completed = 0;  ///< until the requester has its completion; with a pair, from the near box's ACK
};
Latency latency(const Scenario& scenario);

/// Messages of a QP that must be under way to fill the line over the whole distance, including the hosts' turnaround.
/// With at least this many posted, predict() says `line` if no other limit is lower.
std::uint64_t depth_to_fill(const Scenario& scenario);

/// Bytes of a message on the line, in the direction of its data: headers, FCS, preamble and gap of each packet
/// included. IPv4.
std::uint64_t line_bytes(Operation operation, std::uint64_t message, std::uint32_t path_mtu);

}  // namespace longhaul::plan
