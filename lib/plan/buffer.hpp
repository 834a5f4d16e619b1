// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan buffer`: how long a packet stays in custody, and a configuration with the memory that a box needs for
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/settings.hpp"
#include "plan/plot.hpp"
#include "plan/scenario.hpp"
#include "plan/table.hpp"

namespace longhaul::plan {

struct BufferQuestion {
  Link link;
  double loss = 0;                   ///< of packets, independent of each other, from 0 to below 1
  Duration outage = 0;               ///< the path loses everything meanwhile, and the hosts must not notice
  std::uint32_t path_mtu = 4096;     ///< bytes of payload of a full packet
  std::uint32_t least_frame = 4096;  ///< bytes of the smallest frame that custody is promised for
  std::uint32_t mtu = 4200;          ///< of the box's ports
  std::uint32_t connections = engine::Settings{}.max_connections;
};

/// How often lost packets must be sent again, and how long that takes. The near box works alone: the responder discards
/// everything after a gap and NAKs once. So the first repair takes a round trip, and each further one waits for the
/// timer.
struct Custody {
  double packets_under_way = 0;     ///< full packets in a round trip at the line rate
  double losses = 0;                ///< expected number of these packets that are lost
  double expected_seconds = 0;      ///< expected time from first transmission to release, over all numbers of repairs
  unsigned repairs = 0;             ///< in 999 of 1000 round trips no packet must be sent again more often
  Duration repaired = 0;            ///< time in custody with this many repairs
  Duration after_outage = 0;        ///< worst case for a packet sent when the outage began; 0 without an outage
  Duration time = 0;                ///< to plan with: the longest of these
  std::uint64_t bytes = 0;          ///< rate x time, rounded up: what the configuration promises
  double connection_bps = 0;        ///< on the line, of a single connection with these losses and go-back-N
  std::uint64_t reorder_bytes = 0;  ///< that a far box which is a peer holds to put packets in order
};
Custody custody_for(const BufferQuestion& question);

/// Resend timer of a box on a path with a constant round trip (custody/rtt.hpp).
Duration resend_timer(Duration round_trip);

/// A file for `longhaul run`. Its ports are examples.
std::string configuration(const BufferQuestion& question, const Custody& custody, const std::string& made_by);

/// The figures of `longhaul run --check` for this file, in bytes.
struct BoxMemoryNeed {
  std::uint64_t reserve = 0;   ///< hugepages
  std::uint64_t ordinary = 0;  ///< memory beside the hugepages
  std::uint64_t promised = 0;  ///< promised custody
};

Report report(const BufferQuestion& question, const Custody& custody, const BoxMemoryNeed& memory,
              const std::string& configuration);

/// Custody against distance, up to ten times the distance in the question.
Plot plot(const BufferQuestion& question);

}  // namespace longhaul::plan
