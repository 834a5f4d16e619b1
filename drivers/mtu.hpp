// SPDX-License-Identifier: BSD-3-Clause
// Both ports of a box or a link must carry the same frames: what one takes in the other must be able to send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace longhaul::drivers {

/// Ethernet header and two VLAN tags (802.1ad + 802.1Q); the FCS is not in the buffer with any driver we use.
inline constexpr std::uint32_t kFrameOverhead = 14 + 2 * 4;

/// What the ports are set to when neither they nor the configuration say anything.
inline constexpr std::uint32_t kDefaultMtu = 9000;

/// The IP packets a port can carry.
struct MtuCapacity {
  std::string port;       ///< for messages: "host (0000:01:00.0)"
  std::uint32_t mtu = 0;  ///< bytes: the largest, or for a fixed port the only one
  bool fixed = false;     ///< set outside of longhaul (a kernel interface), not by it
  std::string remedy;     ///< how to raise it: "ip link set dev veth0 mtu N"
};

/// The MTU in bytes that both ports are to run with: `wanted` if given, else that of a fixed port, else kDefaultMtu.
/// Throws std::runtime_error with both numbers and what to do when the ports cannot both carry it, or, with
/// nothing `wanted`, when two fixed ports differ.
std::uint32_t agree_on_mtu(const MtuCapacity& first, const MtuCapacity& second, std::optional<std::uint32_t> wanted);

}  // namespace longhaul::drivers
