// SPDX-License-Identifier: BSD-3-Clause
// RoCEv2 inside what the box does not take apart. It passes untouched and is not accelerated, and an operator must be
// able to see why. One level is looked at, and nothing more than whether a UDP header there names RoCE's port.
#pragma once

#include <cstdint>
#include <span>

#include "wire/frame.hpp"

namespace longhaul::wire {

inline constexpr std::uint16_t kVxlanUdpPort = 4789;  ///< RFC 7348

/// The status of a frame that parse() does not take further, for the reason `plain`: one of roce_in_..., or `plain`
/// itself. Never reads beyond `frame`. The steps are bounded, whatever the bytes are.
ParseStatus look_inside(std::span<const std::uint8_t> frame, ParseStatus plain) noexcept;

}  // namespace longhaul::wire
