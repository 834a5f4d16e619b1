// SPDX-License-Identifier: BSD-3-Clause
// A requester, a long haul and a responder for benchmarks, in one thread beside the box: real frames with valid ICRCs,
// each of which is checked where it comes out.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "drivers/clock.hpp"
#include "drivers/port.hpp"
#include "flow/time.hpp"

struct rte_mempool;

namespace longhaul::bench {

struct TrafficOptions {
  std::uint32_t flows = 16;
  std::uint32_t payload = 512;         ///< bytes of each RDMA WRITE
  double rate = 1.2e6;                 ///< requests per second, all flows together
  std::uint64_t requests = 2'000'000;  ///< after the flows are confirmed
  Duration round_trip = milliseconds(10);
};

struct TrafficResult {
  std::uint64_t offered = 0;
  std::uint64_t pseudo_acks = 0;
  std::uint64_t delivered = 0;  ///< requests at the responder, in order, ICRC valid
  std::uint64_t repeated = 0;   ///< requests that came again after their timer, valid but not needed
  double offered_per_second = 0;
  std::vector<std::string> errors;  ///< the first few things that were wrong; empty when all was right
};

/// Offers the traffic at the ends of two wires whose other ends are a box's ports. Blocks until everything was answered
/// or nothing moves for 5 s.
TrafficResult run_traffic(const TrafficOptions& options, drivers::Port& host_end, drivers::Port& wan_end,
                          rte_mempool* pool, const drivers::Clock& clock);

}  // namespace longhaul::bench
