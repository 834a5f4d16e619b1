// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace longhaul::drivers {

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

  std::array<std::pair<std::string_view, std::uint64_t>, 9> named() const {
    return {{{"ipackets", ipackets},
             {"opackets", opackets},
             {"ibytes", ibytes},
             {"obytes", obytes},
             {"imissed", imissed},
             {"ierrors", ierrors},
             {"oerrors", oerrors},
             {"rx_nombuf", rx_nombuf},
             {"oversize", oversize}}};
  }
};

}  // namespace longhaul::drivers
