// SPDX-License-Identifier: BSD-3-Clause
// How far two cores are apart: how long it takes until a cache line that one core wrote reaches the other. On a virtual
// machine this changes while a benchmark runs. So does the cost of every device that takes frames from another core.
#pragma once

namespace longhaul::bench {

/// The TSC cycles that a cache line takes from this thread's core to that of worker `lcore`, which must be idle: the
/// median of many round trips, halved.
double line_transfer_cycles(unsigned lcore);

}  // namespace longhaul::bench
