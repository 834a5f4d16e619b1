// SPDX-License-Identifier: BSD-3-Clause
#include "plan/framing.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "wire/headers.hpp"

namespace longhaul::plan {
namespace {

// IEEE 802.3: the parts that no capture shows.
constexpr std::uint32_t kPreambleAndDelimiter = 8;
constexpr std::uint32_t kFcs = 4;
constexpr std::uint32_t kGap = 12;

constexpr std::size_t kMostTags = 2;
constexpr std::size_t kParts = 9;
using Parts = std::array<FramePart, kParts>;

constexpr Parts make_parts(bool ipv6, std::uint32_t tags) {
  return {
      {{"preamble and delimiter", kPreambleAndDelimiter},
       {"Ethernet", sizeof(wire::EthernetHeader)},
       {"VLAN tags", tags * static_cast<std::uint32_t>(sizeof(wire::VlanTag))},
       {ipv6 ? "IPv6" : "IPv4", static_cast<std::uint32_t>(ipv6 ? sizeof(wire::Ipv6Header) : sizeof(wire::Ipv4Header))},
       {"UDP", sizeof(wire::UdpHeader)},
       {"BTH", sizeof(wire::Bth)},
       {"ICRC", static_cast<std::uint32_t>(wire::kIcrcSize)},
       {"FCS", kFcs},
       {"gap", kGap}}};
}

constexpr Parts kTable[2][kMostTags + 1] = {{make_parts(false, 0), make_parts(false, 1), make_parts(false, 2)},
                                            {make_parts(true, 0), make_parts(true, 1), make_parts(true, 2)}};

constexpr std::array<std::uint32_t, 5> kPathMtus = {256, 512, 1024, 2048, 4096};

/// Bytes of extended headers in all of a message's data packets.
std::uint64_t extended_bytes(Operation operation, std::uint64_t packets) {
  switch (operation) {
    case Operation::write:
      return sizeof(wire::Reth);
    case Operation::read:
      return (packets > 1 ? 2 : 1) * sizeof(wire::Aeth);
    case Operation::send:
      break;
  }
  return 0;
}

}  // namespace

std::span<const FramePart> parts_of(const Framing& framing) {
  return kTable[framing.ipv6 ? 1 : 0][std::min<std::size_t>(framing.vlan_tags, kMostTags)];
}

std::uint32_t frame_overhead(const Framing& framing) {
  const auto parts = parts_of(framing);
  return std::accumulate(parts.begin(), parts.end(), 0u,
                         [](std::uint32_t sum, const FramePart& part) { return sum + part.bytes; });
}

std::uint32_t outside_frame() { return kPreambleAndDelimiter + kFcs + kGap; }

std::uint32_t full_frame(const Framing& framing) { return framing.path_mtu + frame_overhead(framing); }

std::uint64_t packets_of(std::uint64_t message, std::uint32_t path_mtu) {
  return message == 0 ? 1 : (message - 1) / path_mtu + 1;
}

std::uint64_t line_bytes(Operation operation, std::uint64_t message, const Framing& framing) {
  const std::uint64_t packets = packets_of(message, framing.path_mtu);
  const std::uint64_t padded = (message + 3) / 4 * 4;
  return padded + packets * frame_overhead(framing) + extended_bytes(operation, packets);
}

std::span<const std::uint32_t> path_mtus() { return kPathMtus; }

}  // namespace longhaul::plan
