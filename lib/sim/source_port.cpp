// SPDX-License-Identifier: BSD-3-Clause
#include "sim/source_port.hpp"

#include "sim/random.hpp"
#include "wire/udp_source_port.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint16_t kFirst = 0xc000;
constexpr std::uint32_t kBits = 14;
constexpr std::uint32_t kMask = (1U << kBits) - 1;

}  // namespace

std::uint16_t source_port(SourcePort choice, std::uint32_t own_qpn, std::uint32_t remote_qpn, std::uint64_t luck) {
  std::uint32_t low = 0;
  switch (choice) {
    case SourcePort::fixed:
      break;
    case SourcePort::both_qpns:
      return wire::derived_udp_source_port(own_qpn, remote_qpn);
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
