// SPDX-License-Identifier: BSD-3-Clause
// Integers as they are on the wire: most significant byte first, alignment one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace longhaul::wire {

static_assert(std::endian::native == std::endian::little);

/// An unsigned big-endian integer of `Bytes` bytes (1 to 8), alignment 1, usable inside header structs
/// that are laid over packet bytes. Converts from and to `Int` in host byte order.
template <typename Int, std::size_t Bytes>
class BigEndian {
 public:
  constexpr BigEndian() = default;
  constexpr BigEndian(Int value) noexcept { set(value); }  // NOLINT(google-explicit-constructor): reads as an integer

  constexpr operator Int() const noexcept {  // NOLINT(google-explicit-constructor)
    if (std::is_constant_evaluated()) {
      std::uint64_t value = 0;
      for (std::size_t i = 0; i < Bytes; ++i) value = (value << 8) | bytes_[i];
      return static_cast<Int>(value);
    }
    // Written out, or the compiler loads byte by byte: these fields are read several times per packet.
    if constexpr (Bytes == 3) {
      return static_cast<Int>(static_cast<Int>(load<std::uint16_t>()) << 8 | bytes_[2]);
    } else {
      return load<Int>();
    }
  }

  constexpr BigEndian& operator=(Int value) noexcept {
    set(value);
    return *this;
  }

 private:
  /// The first sizeof(Word) bytes.
  template <typename Word>
  Word load() const noexcept {
    static_assert(sizeof(Word) <= Bytes);
    Word word;
    std::memcpy(&word, bytes_, sizeof(word));
    return swapped(word);
  }
  static std::uint16_t swapped(std::uint16_t word) noexcept { return __builtin_bswap16(word); }
  static std::uint32_t swapped(std::uint32_t word) noexcept { return __builtin_bswap32(word); }
  static std::uint64_t swapped(std::uint64_t word) noexcept { return __builtin_bswap64(word); }

  constexpr void set(Int value) noexcept {
    auto rest = static_cast<std::uint64_t>(value);
    for (std::size_t i = Bytes; i-- > 0;) {
      bytes_[i] = static_cast<std::uint8_t>(rest);
      rest >>= 8;
    }
  }

  std::uint8_t bytes_[Bytes] = {};
};

using Be16 = BigEndian<std::uint16_t, 2>;
using Be24 = BigEndian<std::uint32_t, 3>;
using Be32 = BigEndian<std::uint32_t, 4>;
using Be64 = BigEndian<std::uint64_t, 8>;

static_assert(sizeof(Be16) == 2 && alignof(Be16) == 1);
static_assert(sizeof(Be24) == 3 && alignof(Be24) == 1);
static_assert(sizeof(Be32) == 4 && alignof(Be32) == 1);
static_assert(sizeof(Be64) == 8 && alignof(Be64) == 1);

}  // namespace longhaul::wire
