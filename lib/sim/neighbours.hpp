// SPDX-License-Identifier: BSD-3-Clause
// What routers and hosts announce about their own MAC addresses: ARP, and over IPv6 Neighbour Advertisements.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/case.hpp"
#include "wire/frame.hpp"

namespace longhaul::sim {

/// To all, with the VLAN tags of the case: `ip` now has `mac`.
std::vector<std::uint8_t> announcement(const Case& c, const wire::IpAddress& ip, const wire::MacAddress& mac);
/// The same in an ARP request for `asked`. Over IPv6 an announcement: boxes learn nothing from a question there.
std::vector<std::uint8_t> question(const Case& c, const wire::IpAddress& ip, const wire::MacAddress& mac,
                                   const wire::IpAddress& asked);

}  // namespace longhaul::sim
