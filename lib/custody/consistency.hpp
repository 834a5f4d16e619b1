// SPDX-License-Identifier: BSD-3-Clause
// What must be true of a flow between two calls, whatever was received. For tests and fuzzers: it walks custody.
#pragma once

#include <cstdint>
#include <string_view>

#include "custody/near_flow.hpp"

namespace longhaul::custody {

/// The first of these rules that `flow` breaks, in words; empty when it breaks none.
std::string_view inconsistency(const NearFlow& flow);

/// Large mbufs in the custody of `flow`.
std::uint64_t large_mbufs_of(const NearFlow& flow);

}  // namespace longhaul::custody
