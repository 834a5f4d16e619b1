// SPDX-License-Identifier: BSD-3-Clause
// The long haul for which a NIC is judged, and its demands on a queue pair. All of it is calculated with the formulas
// of docs/literature.md (depth: NTT Technical Review 22(3), 2024).
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes_text.hpp"

namespace longhaul::plan::nic {

enum class Operation { write, send, read };

/// The origin of a figure; every printed figure states it.
enum class Origin { given, assumed, read, calculated };
const char* name_of(Origin origin);
const char* name_of(Operation operation);

struct Haul {
  std::uint64_t rate_bps = 100'000'000'000;
  Origin rate_origin = Origin::assumed;
  std::uint64_t rtt_ns = 0;  ///< above 0
  Origin rtt_origin = Origin::given;
  Operation operation = Operation::write;
  std::uint32_t qps = 1;
  Origin qps_origin = Origin::assumed;
  std::uint32_t asked_depth = 0;  ///< depth that the application asks per QP (-t of perftest); 0: as much as it gets
  std::uint64_t message_bytes = 4096;
  Origin message_origin = Origin::assumed;
  std::uint32_t path_mtu = 4096;  ///< of the dumps, if they say
  Origin path_mtu_origin = Origin::assumed;

  /// Bytes of a message on the wire: its payload, and per packet the headers, FCS, preamble and gap (82 bytes).
  std::uint64_t wire_bytes() const;
  /// Messages outstanding, over all QPs, that fill the rate: floor(rate x RTT / (8 x wire_bytes())).
  std::uint64_t messages_needed() const;
  /// The same per QP, rounded up; at least 1.
  std::uint64_t depth_needed() const;
  /// Payload bits per second that the rate can carry.
  double payload_cap_bps() const;
  /// Payload bits per second with this many messages outstanding per QP; never above what the line rate allows.
  double payload_bps(std::uint64_t depth) const;
  bool enough(std::uint64_t depth) const { return depth >= depth_needed(); }
  /// Bytes under way in one direction: rate x RTT / 8.
  double bytes_in_flight() const;
  /// Packets of a full path MTU under way.
  double packets_in_flight() const;
};

/// Bytes of a packet beside its payload: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, preamble 8, gap 12.
constexpr std::uint32_t kOverheadBytes = 14 + 20 + 8 + 12 + 4 + 4 + 8 + 12;

std::string show_rate(double bps);          ///< "4.40 Gbit/s"
std::string show_time(std::uint64_t ns);    ///< "3.81 ms"
std::string show_percent(double fraction);  ///< "4.5 %"
/// "4 QPs x 128 x 4 KiB / 3.81 ms = 4.40 Gbit/s (calculated)".
std::string show_ceiling(const Haul& haul, std::uint64_t depth);
/// "11398 outstanding messages of 4 KiB, 2850 per QP (calculated)".
std::string show_need(const Haul& haul);

}  // namespace longhaul::plan::nic
