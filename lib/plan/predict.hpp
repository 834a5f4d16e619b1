// SPDX-License-Identifier: BSD-3-Clause
// What a scenario yields, by formula: the least of what the line, the hosts and the window allow (numbers.md N2, N4).
#pragma once

#include <string_view>

#include "plan/scenario.hpp"

namespace longhaul::plan {

/// What a throughput is limited by.
enum class Limit : std::uint8_t { line, depth, nic_depth, read_depth, message_time, local_loop, box };
/// For people: "work requests posted", "work requests in the NIC (LOG_MAX_OUTSTANDING_WQE)".
std::string_view name_of(Limit limit);

struct Prediction {
  double messages_per_second = 0;  ///< of all QPs
  double bits_per_second = 0;      ///< of payload
  Limit limit = Limit::line;
};

Prediction predict(const Scenario& scenario);

/// Bytes that a message of the operation takes of the line, in the direction of its data: every header, FCS, preamble
/// and gap of each of its packets. IPv4.
std::uint64_t line_bytes(Operation operation, std::uint64_t message, std::uint32_t path_mtu);

}  // namespace longhaul::plan
