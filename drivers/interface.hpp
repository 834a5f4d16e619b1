// SPDX-License-Identifier: BSD-3-Clause
// The kernel's network interfaces, for drivers that use them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longhaul::drivers {

/// The names of all interfaces of this network namespace.
std::vector<std::string> interface_names();

/// The MTU in bytes. Throws std::runtime_error when there is no such interface.
std::uint32_t interface_mtu(const std::string& interface);

/// The interface is up and has a carrier. False when there is no such interface.
bool interface_running(const std::string& interface);

/// Sets the interface up or down. Down: its peer loses its carrier. Throws std::runtime_error when the kernel refuses.
void set_interface_up(const std::string& interface, bool up);

}  // namespace longhaul::drivers
