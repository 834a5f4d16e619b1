// SPDX-License-Identifier: BSD-3-Clause
// What DPDK logs.
#pragma once

#include <string_view>

namespace longhaul::drivers {

/// From now on `tell` gets each line that DPDK logs, without its line end, instead of standard error. For the whole
/// process, in whatever thread logs; `tell` must not throw. Throws std::system_error.
void take_eal_log(void (*tell)(std::string_view line));

}  // namespace longhaul::drivers
