// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment and the buffers of simulated worlds, once per process.
#pragma once

#include "engine/pools.hpp"

namespace longhaul::test {

const engine::Pools& sim_pools();

}  // namespace longhaul::test
