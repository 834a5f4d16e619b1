// SPDX-License-Identifier: BSD-3-Clause
// How often a thread that waits for another one gives up its processor.
#pragma once

namespace longhaul::bench {

/// Looks at what the other thread does between two yields: the two may share a processor.
inline constexpr unsigned kLooksPerYield = 1024;

}  // namespace longhaul::bench
