// SPDX-License-Identifier: BSD-3-Clause
// What linerate can send through a device, as a table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/side.hpp"
#include "wire/opcode.hpp"

namespace longhaul::bench {

/// One message of a connection: a SEND or WRITE in so many packets, the last of which asks for an ACK, or a READ that
/// is answered in so many.
struct MessageKind {
  wire::Operation operation;  ///< send, write or read_request
  std::uint16_t payload;      ///< bytes of each packet; a multiple of 4
  std::uint16_t packets;      ///< more than one: `payload` is the path MTU
};

/// What a connection sends, over and over; connection f begins with message f.
using Script = std::vector<MessageKind>;

/// Where the hosts are whose requests are sent.
enum class Requesters : std::uint8_t { host_side, wan_side, both_sides };

struct Workload {
  std::string_view name;
  std::string_view what;
  std::vector<Script> scripts;                    ///< connection f has script f modulo their number; none: no RoCE
  std::vector<std::uint16_t> foreign_sizes;       ///< bytes of frames that are not RoCE, in turn, from both sides
  Requesters requesters = Requesters::host_side;  ///< of both sides: as many connections in either direction
  bool answers_only = false;                      ///< requests pass unmeasured; then their answers, measured
  /// Else no RDMA-CM announces the connections, and all are between the same two hosts and use the same PSNs, so that
  /// nothing tells a box which of them an ACK is for: all passes as it came. At least two.
  bool announced = true;

  bool has(Side requester) const {
    return !scripts.empty() &&
           (requesters == Requesters::both_sides || (requesters == Requesters::host_side) == (requester == Side::host));
  }

  /// Mean bytes of the frames that count as packets, FCS not included: requests with data, READ responses, ACKs when
  /// answers_only, all that is not RoCE.
  double frame_bytes() const;
};

/// All of them. Names are unique.
std::span<const Workload> workloads();
/// Throws std::invalid_argument when there is none of that name.
const Workload& workload(std::string_view name);

/// A workload and how much of it.
struct Point {
  const Workload* workload = nullptr;
  std::uint32_t flows = 64;           ///< connections, of each direction; for frames that are not RoCE: 5-tuples
  std::uint32_t custody_packets = 0;  ///< requests without an answer, of each direction

  /// The time in which so many come, at 100 Gbit/s or 15 M/s, whichever is less.
  double custody_ms() const;
  /// Frame bytes of so many, FCS not included.
  std::uint64_t custody_bytes() const;
};

/// How many packets without an answer a number of milliseconds (Point::custody_ms()) or of bytes means; none where no
/// frame is RoCE.
std::uint32_t packets_of_ms(const Workload& workload, double ms);
std::uint32_t packets_of_bytes(const Workload& workload, double bytes);

/// What is measured unless told otherwise.
std::vector<Point> default_points();

/// Bytes that a frame takes on the line beside itself: FCS, preamble, start delimiter, gap.
inline constexpr std::uint32_t kLineOverhead = 4 + 8 + 12;

/// Frames of `bytes` that 100 Gbit/s carries in a second.
double line_rate_100g(double bytes);

}  // namespace longhaul::bench
