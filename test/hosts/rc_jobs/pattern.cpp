// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace longhaul::jobs {

namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kNonZero = 0x0101010101010101;

/// splitmix64's finalizer.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t key(std::uint32_t job, std::uint32_t side, std::uint32_t message) {
  return mix(mix(std::uint64_t{job} << 32 | side) ^ message);
}

/// Eight bytes of a message, from `word` times eight on.
std::uint64_t word_of(std::uint64_t message_key, std::uint64_t word) { return mix(message_key + word) | kNonZero; }

std::uint64_t message_key(const Pattern& pattern, Side side, std::uint32_t message) {
  return key(message < pattern.same_first ? 0 : pattern.job, static_cast<std::uint32_t>(side), message);
}

/// Small ones are as frequent as large ones: as many sizes from 1 to 2 as from 2 to 4, and so on.
std::uint32_t size_of(const Pattern& pattern, std::uint32_t message) {
  constexpr std::uint32_t kSizes = 2;  // not a Side
  const auto random = key(pattern.vary ? pattern.job : 0, kSizes, message);
  const auto doublings = static_cast<std::uint32_t>(std::bit_width(pattern.largest));
  const std::uint64_t least = std::uint64_t{1} << (random % doublings);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(least + (random >> 32) % least, pattern.largest));
}

/// Counts what should be zero and is not.
Comparison compare_with_zero(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  Comparison result;
  result.compared = bytes.size();
  for (std::size_t n = 0; n < bytes.size(); ++n)
    if (bytes[n] != 0 && result.wrong++ == 0) result.first_wrong = offset + n;
  return result;
}

}  // namespace

Layout::Layout(const Pattern& pattern) {
  places_.reserve(pattern.messages);
  region_ = kAlignment;
  for (std::uint32_t message = 0; message < pattern.messages; ++message) {
    const auto size = size_of(pattern, message);
    places_.push_back({region_, size});
    bytes_ += size;
    region_ = (region_ + size + kAlignment) / kAlignment * kAlignment + kAlignment;
  }
}

void fill(const Pattern& pattern, Side side, std::uint32_t message, std::span<std::uint8_t> out) {
  const auto of = message_key(pattern, side, message);
  for (std::size_t at = 0; at < out.size(); at += 8) {
    const auto word = word_of(of, at / 8);
    std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, out.size() - at));
  }
}

void Comparison::add(const Comparison& other) {
  if (wrong == 0) first_wrong = other.first_wrong;
  compared += other.compared;
  wrong += other.wrong;
  missing += other.missing;
}

Comparison compare(const Pattern& pattern, Side side, std::uint32_t message, std::uint64_t offset,
                   std::span<const std::uint8_t> bytes) {
  Comparison result;
  result.compared = bytes.size();
  const auto of = message_key(pattern, side, message);
  std::uint8_t expected[8];
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const auto word = word_of(of, at / 8);
    std::memcpy(expected, &word, 8);
    const auto length = std::min<std::size_t>(8, bytes.size() - at);
    if (std::memcmp(expected, bytes.data() + at, length) == 0) continue;
    for (std::size_t n = 0; n < length; ++n) {
      if (bytes[at + n] == expected[n]) continue;
      if (result.wrong++ == 0) result.first_wrong = offset + at + n;
      if (bytes[at + n] == 0) ++result.missing;
    }
  }
  return result;
}

Comparison compare(const Pattern& pattern, Side side, const Layout& layout, std::span<const std::uint8_t> region) {
  Comparison result;
  std::uint64_t at = 0;
  for (std::uint32_t message = 0; message < layout.places().size(); ++message) {
    const auto& place = layout.places()[message];
    result.add(compare_with_zero(at, region.subspan(at, place.offset - at)));
    result.add(compare(pattern, side, message, place.offset, region.subspan(place.offset, place.size)));
    at = place.offset + place.size;
  }
  result.add(compare_with_zero(at, region.subspan(at)));
  return result;
}

}  // namespace longhaul::jobs
