// SPDX-License-Identifier: BSD-3-Clause
// The table of what linerate can send through a device.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/side.hpp"
#include "wire/opcode.hpp"

namespace longhaul::bench {

/// One message of a connection: a SEND or WRITE in `packets` packets, the last of which asks for an ACK, or a READ that
/// is answered in `packets` packets.
struct MessageKind {
  wire::Operation operation;  ///< send, write or read_request
  std::uint16_t payload;      ///< bytes of each packet; a multiple of 4
  std::uint16_t packets;      ///< if more than one, `payload` is the path MTU
};

/// What a connection sends, over and over. Connection f begins with message f.
using Script = std::vector<MessageKind>;

/// The side of the hosts that send requests.
enum class Requesters : std::uint8_t { host_side, wan_side, both_sides };

struct Workload {
  std::string_view name;
  std::string_view what;
  std::vector<Script> scripts;                    ///< connection f has script f modulo their number; none: no RoCE
  std::vector<std::uint16_t> foreign_sizes;       ///< bytes of frames that are not RoCE, in turn, from both sides
  Requesters requesters = Requesters::host_side;  ///< both_sides: as many connections in each direction
  bool answers_only = false;                      ///< requests pass unmeasured, then their answers are measured
  /// If false, no RDMA-CM announces the connections, and all are between the same two hosts with the same PSNs. So
  /// nothing tells a box which of them an ACK is for, and everything passes as it came. There must be at least two.
  bool announced = true;

  bool has(Side requester) const {
    return !scripts.empty() &&
           (requesters == Requesters::both_sides || (requesters == Requesters::host_side) == (requester == Side::host));
  }

  /// Mean bytes of the frames that count as packets, without FCS: requests with data, READ responses, ACKs if
  /// answers_only, and all frames that are not RoCE.
  double frame_bytes() const;
};

/// All workloads. Their names are unique.
std::span<const Workload> workloads();
/// Throws std::invalid_argument if there is none of that name.
const Workload& workload(std::string_view name);

/// A workload and its size.
struct Point {
  const Workload* workload = nullptr;
  std::uint32_t flows = 64;           ///< connections per direction; for frames that are not RoCE, 5-tuples
  std::uint32_t custody_packets = 0;  ///< requests without an answer, per direction

  /// The time in which custody_packets come at 100 Gbit/s or 15 million a second, whichever is less.
  double custody_ms() const;
  /// The frame bytes of custody_packets, without FCS.
  std::uint64_t custody_bytes() const;
};

/// The number of packets without an answer for some milliseconds (Point::custody_ms()) or bytes. 0 if no frame is RoCE.
std::uint32_t packets_of_ms(const Workload& workload, double ms);
std::uint32_t packets_of_bytes(const Workload& workload, double bytes);

/// The fewest connections whose requesters can have `custody_packets` requests under way. On each, a requester has at
/// most 255 READs and atomics under way: its initiator depth has eight bits (IBTA vol. 1, 12.7.29).
std::uint32_t fewest_flows(const Workload& workload, std::uint32_t custody_packets);

/// The points that are measured by default.
std::vector<Point> default_points();

/// Bytes that a frame takes on the line in addition to its own: FCS, preamble, start delimiter, gap.
inline constexpr std::uint32_t kLineOverhead = 4 + 8 + 12;

/// Frames of `bytes` that 100 Gbit/s carries in a second.
double line_rate_100g(double bytes);

}  // namespace longhaul::bench
