// SPDX-License-Identifier: BSD-3-Clause
// A question about a link: hosts, operation, distance. A formula (predict.hpp) and a simulation (simulate.hpp) answer
// the same question.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.hpp"

namespace longhaul::plan {

/// Bytes of the largest message of an RC queue pair (IBTA vol. 1, 9.7.7).
inline constexpr std::uint64_t kLargestMessage = 1ull << 31;

enum class Operation : std::uint8_t { write, send, read };

/// The long haul.
struct Link {
  std::uint64_t rate_bps = 100'000'000'000;  ///< of the line, preamble, gap and FCS included
  Duration round_trip = milliseconds(1);     ///< propagation, both ways
};

/// Both hosts, NIC and application. The application behaves like perftest.
struct Hosts {
  std::uint32_t qps = 1;
  std::uint32_t depth = 128;     ///< work requests that the application keeps posted on a QP (perftest -t)
  std::uint32_t moderation = 1;  ///< the application asks for every nth completion only (perftest -Q); 1: for each
  std::uint32_t nic_depth =
      0;  ///< messages that the NIC sends before it has an answer, 2^LOG_MAX_OUTSTANDING_WQE; 0: all posted
  std::uint32_t read_depth = 16;             ///< READs of a QP without an answer (max_qp_rd_atom, IBTA vol. 1, 9.4.4)
  std::uint32_t path_mtu = 4096;             ///< bytes
  Duration turnaround = microseconds(2);     ///< for a completed request, beside the link: NICs, PCIe, application
  Duration message_time = 0;                 ///< minimum time between a QP's messages in the NIC; 0: as the line allows
  std::uint64_t rate_bps = 100'000'000'000;  ///< of the hosts' ports, as Link::rate_bps
};

/// The boxes, if there are any.
struct Pair {
  bool present = false;
  Duration local_round_trip = microseconds(4);  ///< from a host's port to its box and back
  Duration frame_time =
      300;  ///< nanoseconds between data frames that a worker takes in, at least (docs/performance.md)
  std::uint32_t workers = 1;  ///< connections are spread over this many
};

struct Scenario {
  Operation operation = Operation::write;
  std::uint64_t message = 65536;  ///< bytes
  Link link;
  Hosts hosts;
  Pair pair;
  std::uint64_t cap_bps = 0;  ///< of payload, measured or given; 0: the line rate less headers
};

}  // namespace longhaul::plan
