// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan buffer`: how long a packet stays in custody, and what memory a box needs for that, as a configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plot.hpp"
#include "plan/scenario.hpp"
#include "plan/table.hpp"

namespace longhaul::plan {

struct BufferQuestion {
  Link link;
  double loss = 0;                   ///< of packets, independent of each other, 0 to below 1
  Duration outage = 0;               ///< during which the path loses everything, and the hosts shall not notice
  std::uint32_t path_mtu = 4096;     ///< bytes of payload of a full packet
  std::uint32_t least_frame = 4096;  ///< bytes of the smallest frame that custody is promised for
  std::uint32_t mtu = 4200;          ///< of the box's ports
  std::uint32_t connections = 4096;
};

/// How often what is lost must be sent again, and what that takes. The near box alone: the responder discards what is
/// behind a gap and NAKs it once, so the first repair takes a round trip, and each further one waits for the timer.
struct Custody {
  double packets_under_way = 0;  ///< full ones, in a round trip at the rate of the line
  double losses = 0;             ///< of them, expected in a round trip
  double expected_seconds = 0;   ///< from the first transmission of a packet to its release, weighted over all cases
  unsigned repairs = 0;          ///< 999 of 1000 round trips have no packet that must be sent again more often
  Duration repaired = 0;         ///< with so many
  Duration after_outage = 0;     ///< of a packet sent when the outage began, at worst; 0 without an outage
  Duration time = 0;             ///< to plan with: the longest of these
  std::uint64_t bytes = 0;       ///< rate x time, rounded up: what the configuration promises
  double connection_bps = 0;     ///< on the line, of one connection alone with these losses: it goes back at each one
  std::uint64_t reorder_bytes = 0;  ///< that a far box would hold, were it to put packets in order
};
Custody custody_for(const BufferQuestion& question);

/// Resend timer of a box on a path whose round trip does not vary (custody/rtt.hpp).
Duration resend_timer(Duration round_trip);

/// A file for `longhaul run`. Its ports are examples.
std::string configuration(const BufferQuestion& question, const Custody& custody, const std::string& made_by);

/// What `longhaul run --check` says of that file, in bytes.
struct BoxMemoryNeed {
  std::uint64_t reserve = 0;   ///< hugepages
  std::uint64_t ordinary = 0;  ///< beside them
  std::uint64_t promised = 0;  ///< in custody
};

Report report(const BufferQuestion& question, const Custody& custody, const BoxMemoryNeed& memory,
              const std::string& configuration);

/// Custody against distance, up to ten times the one asked about.
Plot plot(const BufferQuestion& question);

}  // namespace longhaul::plan
