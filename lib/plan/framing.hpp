// SPDX-License-Identifier: BSD-3-Clause
// A packet's overhead on the line. It is computed from the header layouts (wire/headers.hpp), so that no size is
// written down twice.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plan/scenario.hpp"

namespace longhaul::plan {

/// How packets are encapsulated.
struct Framing {
  std::uint32_t path_mtu = 4096;  ///< bytes of payload of a full packet
  bool ipv6 = false;
  std::uint32_t vlan_tags = 0;
};

/// One part of a packet's overhead, for people and for sums.
struct FramePart {
  std::string_view name;
  std::uint32_t bytes;
};

/// The parts of a packet without extended headers, in the order on the line: preamble first, gap last. The span is
/// always valid.
std::span<const FramePart> parts_of(const Framing& framing);

/// Sum of parts_of(): 82 bytes with IPv4 and no tag.
std::uint32_t frame_overhead(const Framing& framing);

/// The part of the overhead that no capture shows: preamble with its delimiter, FCS and gap.
std::uint32_t outside_frame();

/// Bytes on the line of a middle packet with full payload: 4178 with path MTU 4096, IPv4 and no tag.
std::uint32_t full_frame(const Framing& framing);

/// Packets in a message; an empty message takes one.
std::uint64_t packets_of(std::uint64_t message, std::uint32_t path_mtu);

/// Bytes of a message on the line, in the direction of its data: all of its packets, with the RETH in the first packet
/// of a WRITE, the AETH in the first and the last response of a READ, and payload padded to four bytes.
std::uint64_t line_bytes(Operation operation, std::uint64_t message, const Framing& framing);

/// The path MTUs that IBTA defines (vol. 1, 9.2.5).
std::span<const std::uint32_t> path_mtus();

}  // namespace longhaul::plan
