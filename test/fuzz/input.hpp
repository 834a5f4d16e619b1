// SPDX-License-Identifier: BSD-3-Clause
// The fuzzer's bytes, read as a target needs them. Beyond their end everything is zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace longhaul::fuzz {

using Bytes = std::vector<std::uint8_t>;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t u8() {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  /// Big-endian, like all others.
  std::uint16_t u16() {
    const auto high = u8();
    return static_cast<std::uint16_t>(high << 8 | u8());
  }
  std::uint32_t u24() {
    const std::uint32_t high = u8();
    return high << 16 | u16();
  }
  bool flag() { return (u8() & 1) != 0; }
  std::span<const std::uint8_t> take(std::size_t size) {
    const auto taken = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::span<const std::uint8_t> rest() { return take(rest_.size()); }

 private:
  std::span<const std::uint8_t> rest_;
};

/// A copy in a heap block of exactly its size, so that the address sanitizer sees the first byte too far.
class Exact {
 public:
  explicit Exact(std::span<const std::uint8_t> bytes) : bytes_(new std::uint8_t[bytes.size()]), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), bytes_);
  }
  ~Exact() { delete[] bytes_; }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  std::span<std::uint8_t> bytes() const { return {bytes_, size_}; }

 private:
  std::uint8_t* bytes_;
  std::size_t size_;
};

}  // namespace longhaul::fuzz
