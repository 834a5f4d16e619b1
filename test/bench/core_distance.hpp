// SPDX-License-Identifier: BSD-3-Clause
// How far two cores lie apart: a cache line that one has written reaches the other in so long. On a virtual machine it
// changes while a benchmark runs, and with it what every device costs that takes frames from another core.
#pragma once

namespace longhaul::bench {

/// TSC cycles for a cache line from this thread's core to that of worker `lcore`, which must be idle: the median of
/// many throws there and back, halved.
double line_transfer_cycles(unsigned lcore);

}  // namespace longhaul::bench
