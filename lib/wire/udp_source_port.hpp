// SPDX-License-Identifier: BSD-3-Clause
// The UDP source port that hosts give to the frames of a QP. Where the application names no flow label (NCCL, and
// perftest without RDMA-CM), Linux derives the port from both QPNs, in the same way at both ends: rdma_get_udp_sport()
// of the kernel's ib_verbs.h, which irdma, mlx5, mana, hns, ionic and Soft-RoCE call. So a frame's port tells which
// QPNs it goes between.
#pragma once

#include <cstdint>

namespace longhaul::wire {

/// The port for frames between these QPs, in either direction; in host byte order.
constexpr std::uint16_t derived_udp_source_port(std::uint32_t one_qpn, std::uint32_t other_qpn) noexcept {
  constexpr unsigned kLabelBits = 20;  // of an IPv6 flow label
  constexpr unsigned kPortBits = 14;
  constexpr std::uint64_t kLowest = 0xc000;  // the dynamic ports, RFC 6335
  std::uint64_t folded = std::uint64_t{one_qpn} * other_qpn;
  folded ^= folded >> kLabelBits;
  folded ^= folded >> (2 * kLabelBits);
  const std::uint64_t label = folded & ((1U << kLabelBits) - 1);
  return static_cast<std::uint16_t>(kLowest | ((label ^ label >> kPortBits) & ((1U << kPortBits) - 1)));
}

}  // namespace longhaul::wire
