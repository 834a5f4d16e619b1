// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace longhaul::engine {

/// Bytes of ordinary memory that an engine takes for each connection it has room for: its state, its slot in the table,
/// its timer, and the entry of its pair of hosts. The RDMA-CM exchange is not included.
std::uint64_t bytes_per_connection();

}  // namespace longhaul::engine
