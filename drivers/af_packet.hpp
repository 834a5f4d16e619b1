// SPDX-License-Identifier: BSD-3-Clause
// How large a frame DPDK's net_af_packet carries. The driver itself reports 1518 whatever the interface and its ring
// are; the truth is in the EAL string and in the kernel. Not fixed here: the driver turns an outer VLAN tag 0x88a8 into
// 0x8100.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul::drivers {

/// The arguments of a net_af_packet device that decide about frame sizes.
struct AfPacketArguments {
  std::string interface;
  std::uint32_t frame_size = 2048;  ///< bytes of one slot of the ring, the driver's default
  std::uint32_t queue_pairs = 1;    ///< sockets; the kernel spreads what comes in over all of them

  /// The frame bytes the kernel can put into a slot behind its own header.
  std::uint32_t largest_received() const noexcept;
  /// The frame bytes the driver will send from a slot; it drops larger frames and then miscounts what it consumed.
  std::uint32_t largest_sent() const noexcept;
  /// Data bytes an mbuf must have, or the driver refuses its queue.
  std::uint32_t mbuf_bytes() const noexcept { return largest_sent(); }
};

/// Reads "net_af_packet0,iface=veth0,framesz=16384,..."; nothing when the driver is another one.
/// Throws std::runtime_error when iface= is missing or framesz= is not a number.
std::optional<AfPacketArguments> parse_af_packet(std::string_view vdev);

}  // namespace longhaul::drivers
