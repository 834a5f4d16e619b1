// SPDX-License-Identifier: BSD-3-Clause
// The wait that an RNR NAK asks for (IBTA vol. 1, table 45), by the 5-bit timer field.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.hpp"

namespace longhaul::custody {

inline constexpr std::array<Duration, 32> kRnrTimer = {
    microseconds(655360), microseconds(10),     microseconds(20),     microseconds(30),     microseconds(40),
    microseconds(60),     microseconds(80),     microseconds(120),    microseconds(160),    microseconds(240),
    microseconds(320),    microseconds(480),    microseconds(640),    microseconds(960),    microseconds(1280),
    microseconds(1920),   microseconds(2560),   microseconds(3840),   microseconds(5120),   microseconds(7680),
    microseconds(10240),  microseconds(15360),  microseconds(20480),  microseconds(30720),  microseconds(40960),
    microseconds(61440),  microseconds(81920),  microseconds(122880), microseconds(163840), microseconds(245760),
    microseconds(327680), microseconds(491520),
};

}  // namespace longhaul::custody
