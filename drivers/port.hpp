// SPDX-License-Identifier: BSD-3-Clause
// Where packets come from and go to.
#pragma once

#include <cstdint>
#include <string>

struct rte_mbuf;

namespace longhaul::drivers {

/// One port of a box or a link. Not thread-safe: one worker owns a port.
class Port {
 public:
  virtual ~Port() = default;

  /// Receives up to `count` frames; the caller owns them. Returns how many.
  virtual std::uint16_t receive(rte_mbuf** frames, std::uint16_t count) = 0;

  /// Sends frames in order; takes ownership of the first N and returns N, the rest stay the caller's.
  virtual std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) = 0;

  /// For messages: "host (net_af_packet0)".
  virtual std::string describe() const = 0;
};

}  // namespace longhaul::drivers
