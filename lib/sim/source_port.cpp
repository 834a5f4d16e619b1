// SPDX-License-Identifier: BSD-3-Clause
#include "sim/source_port.hpp"

#include "sim/random.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint16_t kFirst = 0xc000;
constexpr std::uint32_t kBits = 14;
constexpr std::uint32_t kMask = (1U << kBits) - 1;

/// 20 bits, the same whichever QPN is one's own (Linux: rdma_calc_flow_label()).
std::uint32_t flow_label_of(std::uint32_t one, std::uint32_t other) {
  std::uint64_t product = std::uint64_t{one} * other;
  product ^= product >> 20;
  product ^= product >> 40;
  return static_cast<std::uint32_t>(product & 0xfffff);
}

}  // namespace

std::uint16_t source_port(SourcePort choice, std::uint32_t own_qpn, std::uint32_t remote_qpn, std::uint64_t luck) {
  std::uint32_t low = 0;
  switch (choice) {
    case SourcePort::fixed:
      break;
    case SourcePort::both_qpns: {
      // Linux: rdma_flow_label_to_udp_sport().
      const std::uint32_t label = flow_label_of(own_qpn, remote_qpn);
      low = (label ^ (label >> kBits)) & kMask;
      break;
    }
    case SourcePort::own_qpn:
      // rxe_qp.c: the kernel's hash_32() of the QPN.
      low = (own_qpn * 0x61c88647U) >> (32 - kBits);
      break;
    case SourcePort::random:
      low = static_cast<std::uint32_t>(Random(luck, own_qpn, remote_qpn).below(kMask + 1));
      break;
  }
  return static_cast<std::uint16_t>(kFirst | low);
}

}  // namespace longhaul::sim
