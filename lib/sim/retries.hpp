// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace longhaul::sim {

/// An RNR retry count that never runs out: RNR NAKs are not counted then (IBTA vol. 1, 9.7.5.2.8).
inline constexpr std::uint8_t kEndlessRnrRetry = 7;

}  // namespace longhaul::sim
