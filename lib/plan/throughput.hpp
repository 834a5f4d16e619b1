// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan throughput`: rate against distance and message size, three ways.
#pragma once

#include <vector>

#include "plan/advice.hpp"
#include "plan/plot.hpp"
#include "plan/scenario.hpp"
#include "plan/table.hpp"
#include "plan/tcp.hpp"

namespace longhaul::plan {

struct ThroughputQuestion {
  Scenario scenario;  ///< hosts as they are, and the pair's own properties; message and round trip are overridden
  Hosts deep;         ///< depth, nic_depth and read_depth of the deep queues
  std::vector<std::uint64_t> messages;
  std::vector<Duration> round_trips;
  TcpHosts tcp;
  bool latency = false;  ///< show its columns to people; programs always get them
};

/// Powers of two from 2 B to 8 MiB: perftest's -a.
std::vector<std::uint64_t> usual_messages();

/// For programs: the question, at the top of the answer.
Json facts_of(const Scenario& scenario, Kind kind);

Report report(const ThroughputQuestion& question);

/// Rate against message size, or against distance when there are several distances and one size. Throws
/// std::invalid_argument for several of both.
Plot plot(const ThroughputQuestion& question);

}  // namespace longhaul::plan
