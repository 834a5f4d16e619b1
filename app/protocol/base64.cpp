// SPDX-License-Identifier: BSD-3-Clause
#include "app/protocol/base64.hpp"

#include <algorithm>
#include <stdexcept>

namespace longhaul::app {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::span<const std::uint8_t> bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < count ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::vector<std::uint8_t> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) throw std::invalid_argument("base64: the length is not a multiple of four");
  std::vector<std::uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t word = 0;
    std::size_t digits = 0;
    for (const char c : text.substr(i, 4)) {
      const std::size_t digit = kDigits.find(c);
      const bool pads = c == '=' && i + 4 == text.size() && digits >= 2;
      if (digit == std::string_view::npos && !pads) throw std::invalid_argument("base64: invalid character");
      word = word << 6 | (pads ? 0u : static_cast<std::uint32_t>(digit));
      if (!pads) ++digits;
    }
    for (std::size_t k = 0; k + 1 < digits; ++k) out.push_back(static_cast<std::uint8_t>(word >> (16 - 8 * k)));
  }
  return out;
}

}  // namespace longhaul::app
