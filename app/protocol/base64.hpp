// SPDX-License-Identifier: BSD-3-Clause
// Bytes in a line of JSON (RFC 4648, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::app {

std::string to_base64(std::span<const std::uint8_t> bytes);
/// Throws std::invalid_argument if `text` is not base64.
std::vector<std::uint8_t> from_base64(std::string_view text);

}  // namespace longhaul::app
