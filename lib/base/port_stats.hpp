// SPDX-License-Identifier: BSD-3-Clause
// What a port counts, and how each of its figures is named wherever it is shown.
#pragma once

#include <cstdint>
#include <string_view>

namespace longhaul {

/// What a port counted since it started.
struct PortStats {
  std::uint64_t ipackets = 0;   ///< frames received
  std::uint64_t opackets = 0;   ///< frames sent
  std::uint64_t ibytes = 0;     ///< bytes of frames received; some drivers include the FCS
  std::uint64_t obytes = 0;     ///< bytes of frames sent
  std::uint64_t imissed = 0;    ///< frames the NIC dropped: the worker did not fetch them in time
  std::uint64_t ierrors = 0;    ///< frames received with an error
  std::uint64_t oerrors = 0;    ///< frames that could not be sent
  std::uint64_t rx_nombuf = 0;  ///< receive attempts without a free mbuf
  std::uint64_t oversize = 0;   ///< frames too large for the port, dropped before they reached it

  /// Frames that the port received or was given, and that went no further.
  std::uint64_t lost() const { return imissed + ierrors + oerrors + oversize; }
};

/// The metric that has a figure as one of its series: longhaul_port_frames_total and so on.
enum class PortFamily : std::uint8_t { frames, bytes, errors };

struct PortFigure {
  std::uint64_t PortStats::*value;
  std::string_view name;  ///< in text and JSON: DPDK's name (struct rte_eth_stats), where DPDK has one
  PortFamily family;
  std::string_view label;  ///< the value of the family's own label
};

inline constexpr PortFigure kPortFigures[] = {
    {&PortStats::ipackets, "ipackets", PortFamily::frames, "receive"},
    {&PortStats::opackets, "opackets", PortFamily::frames, "transmit"},
    {&PortStats::ibytes, "ibytes", PortFamily::bytes, "receive"},
    {&PortStats::obytes, "obytes", PortFamily::bytes, "transmit"},
    {&PortStats::imissed, "imissed", PortFamily::errors, "missed"},
    {&PortStats::ierrors, "ierrors", PortFamily::errors, "receive"},
    {&PortStats::oerrors, "oerrors", PortFamily::errors, "transmit"},
    {&PortStats::rx_nombuf, "rx_nombuf", PortFamily::errors, "no_buffer"},
    {&PortStats::oversize, "oversize", PortFamily::errors, "oversize"},
};

}  // namespace longhaul
