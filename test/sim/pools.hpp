// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment and the buffers of simulated worlds, once per process.
#pragma once

#include "engine/pools.hpp"

namespace longhaul::test {

const engine::Pools& sim_pools();
/// The same for worlds with attacks: some hundred frames use up the small buffers.
const engine::Pools& tight_pools();

}  // namespace longhaul::test
