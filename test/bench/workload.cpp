// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/workload.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "wire/headers.hpp"

namespace longhaul::bench {

namespace {

using wire::Operation;

constexpr double k100G = 100e9;
constexpr double kMostPerSecond = 15e6;

constexpr std::uint32_t kHeaders =
    sizeof(wire::EthernetHeader) + sizeof(wire::Ipv4Header) + sizeof(wire::UdpHeader) + sizeof(wire::Bth);

// IP packets of 40, 576 and 1500 bytes, 7 : 4 : 1 ("simple IMIX"), the smallest padded by Ethernet.
const std::vector<std::uint16_t> kImix = {60, 60, 590, 60, 60, 590, 60, 590, 60, 60, 590, 1514};

double per_ms(const Workload& workload) {
  return std::min(kMostPerSecond, line_rate_100g(workload.frame_bytes())) / 1e3;
}

MessageKind write(std::uint16_t payload, std::uint16_t packets = 1) { return {Operation::write, payload, packets}; }
MessageKind send(std::uint16_t payload, std::uint16_t packets = 1) { return {Operation::send, payload, packets}; }
MessageKind read(std::uint16_t payload, std::uint16_t packets = 1) {
  return {Operation::read_request, payload, packets};
}

const std::vector<Workload>& table() {
  static const std::vector<Workload> rows = {
      {"write64", "WRITEs of 64 B, each with its ACK", {{write(64)}}, {}},
      {"write512", "WRITEs of 512 B, each with its ACK", {{write(512)}}, {}},
      {"write1024", "WRITEs of 1 KiB, each with its ACK", {{write(1024)}}, {}},
      {"write4096", "WRITEs of 4 KiB, each with its ACK", {{write(4096)}}, {}},
      {"write64k", "WRITEs of 64 KiB in 16 packets, an ACK for each message", {{write(4096, 16)}}, {}},
      {"send64", "SENDs of 64 B, each with its ACK", {{send(64)}}, {}},
      {"send1024", "SENDs of 1 KiB, each with its ACK", {{send(1024)}}, {}},
      {"read1024", "READs of 1 KiB: the responses count", {{read(1024)}}, {}},
      {"read64k", "READs of 64 KiB in 16 responses: those count", {{read(4096, 16)}}, {}},
      {"mixed",
       "a third WRITE connections (64 B, 16 KiB), a third SEND (512 B, 2 KiB), a third READ, WRITE and SEND in turn",
       {{write(64), write(1024, 16)}, {send(512), send(1024, 2)}, {read(1024), write(512), send(64), read(1024, 4)}},
       {}},
      {"acks",
       "only the responder's ACKs, for WRITEs of 64 B that passed before",
       {{write(64)}},
       {},
       Requesters::host_side,
       true},
      {"responses",
       "only the responses of 1 KiB, for READs of four that passed before",
       {{read(1024, 4)}},
       {},
       Requesters::host_side,
       true},
      {"both1024",
       "WRITEs of 1 KiB in both directions at once, with their ACKs",
       {{write(1024)}},
       {},
       Requesters::both_sides},
      {"far512",
       "WRITEs of 512 B from hosts beyond the WAN, each with its ACK: the other box's flows",
       {{write(512)}},
       {},
       Requesters::wan_side},
      {"unknown512",
       "WRITEs of 512 B, each with its ACK, of connections that nobody can tell apart",
       {{write(512)}},
       {},
       Requesters::host_side,
       false,
       false},
      {"unknownacks",
       "only the ACKs of such connections, for WRITEs of 64 B that passed before",
       {{write(64)}},
       {},
       Requesters::host_side,
       true,
       false},
      {"foreign64", "TCP and UDP, frames of 64 B with FCS, from both sides", {}, {60}},
      {"foreign1518", "TCP and UDP, frames of 1518 B with FCS, from both sides", {}, {1514}},
      {"imix", "TCP and UDP, simple IMIX, from both sides", {}, kImix},
  };
  return rows;
}

}  // namespace

double Workload::frame_bytes() const {
  if (answers_only && scripts.front().front().operation != Operation::read_request)
    return kHeaders + sizeof(wire::Aeth) + wire::kIcrcSize;
  double bytes = std::accumulate(foreign_sizes.begin(), foreign_sizes.end(), 0.0);
  auto frames = static_cast<double>(foreign_sizes.size());
  // Connections take turns packet by packet, so a long message has as many turns as packets.
  for (const Script& script : scripts)
    for (const MessageKind& kind : script) {
      double headers = kHeaders + wire::kIcrcSize;
      if (kind.operation == Operation::write) headers += static_cast<double>(sizeof(wire::Reth)) / kind.packets;
      if (kind.operation == Operation::read_request)  // AETH in the first and the last response
        headers += static_cast<double>(sizeof(wire::Aeth)) * std::min<int>(kind.packets, 2) / kind.packets;
      bytes += kind.packets * (headers + kind.payload);
      frames += kind.packets;
    }
  return bytes / frames;
}

std::span<const Workload> workloads() { return table(); }

const Workload& workload(std::string_view name) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const Workload& row) { return row.name == name; });
  if (found == table().end())
    throw std::invalid_argument("no workload \"" + std::string(name) + "\"; --list shows them");
  return *found;
}

double line_rate_100g(double bytes) { return k100G / 8 / (bytes + kLineOverhead); }

std::uint32_t packets_of_ms(const Workload& workload, double ms) {
  return workload.scripts.empty() ? 0 : static_cast<std::uint32_t>(std::lround(per_ms(workload) * ms));
}

std::uint32_t packets_of_bytes(const Workload& workload, double bytes) {
  return workload.scripts.empty() ? 0 : static_cast<std::uint32_t>(std::lround(bytes / workload.frame_bytes()));
}

std::uint32_t fewest_flows(const Workload& workload, std::uint32_t custody_packets) {
  constexpr double kInitiatorDepth = 255;
  double most_reads = 0;  // of each request
  for (const Script& script : workload.scripts) {
    double reads = 0, requests = 0;
    for (const MessageKind& kind : script) {
      const bool is_read = kind.operation == Operation::read_request;
      reads += is_read;
      requests += is_read ? 1 : kind.packets;
    }
    most_reads = std::max(most_reads, reads / requests);
  }
  return std::max(1u, static_cast<std::uint32_t>(std::ceil(most_reads * custody_packets / kInitiatorDepth)));
}

double Point::custody_ms() const { return custody_packets / per_ms(*workload); }

std::uint64_t Point::custody_bytes() const {
  return static_cast<std::uint64_t>(std::llround(custody_packets * workload->frame_bytes()));
}

std::vector<Point> default_points() {
  std::vector<Point> points;
  const auto add = [&](std::string_view name, std::initializer_list<std::uint32_t> flows,
                       std::initializer_list<double> custody_ms) {
    for (const std::uint32_t flow_count : flows)
      for (const double ms : custody_ms)
        points.push_back({&workload(name), flow_count, packets_of_ms(workload(name), ms)});
  };
  for (const char* size : {"write64", "write512", "write1024", "write4096"}) add(size, {64}, {0, 1, 10});
  add("write512", {1, 4096, 65536}, {1});
  for (const char* name : {"write64k", "send64", "send1024", "read1024", "read64k", "mixed", "acks", "both1024"})
    add(name, {64}, {1});
  for (const char* name : {"foreign64", "foreign1518", "imix"}) add(name, {64}, {0});
  return points;
}

}  // namespace longhaul::bench
