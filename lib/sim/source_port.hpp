// SPDX-License-Identifier: BSD-3-Clause
// The UDP source port that a NIC gives a queue pair, so that paths are chosen by queue pair.
#pragma once

#include <cstdint>

#include "sim/case.hpp"

namespace longhaul::sim {

/// `luck`: for SourcePort::random. Always 0xc000 or above.
std::uint16_t source_port(SourcePort choice, std::uint32_t own_qpn, std::uint32_t remote_qpn, std::uint64_t luck);

}  // namespace longhaul::sim
