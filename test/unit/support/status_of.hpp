// SPDX-License-Identifier: BSD-3-Clause
// What the parser says of a frame.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "captures.hpp"
#include "wire/frame.hpp"

namespace longhaul::test {

/// The frame lies in memory of its exact size, so that a sanitizer sees a read beyond it.
inline wire::ParseStatus status_of(const Bytes& bytes) {
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  wire::Frame frame;
  return wire::parse({exact.get(), bytes.size()}, frame);
}

}  // namespace longhaul::test
