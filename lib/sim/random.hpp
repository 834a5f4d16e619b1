// SPDX-License-Identifier: BSD-3-Clause
// Random numbers for one purpose of a case: the link's generator, with the distributions that models need.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "link/random.hpp"

namespace longhaul::sim {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t who, std::uint64_t purpose) noexcept : stream_(seed, who, purpose) {}

  std::uint64_t next() noexcept { return stream_.next(); }
  /// From 0 up to, not including, `end`; 0 when `end` is 0.
  std::uint64_t below(std::uint64_t end) noexcept { return end == 0 ? 0 : stream_.next() % end; }
  /// From `first` to `last`, both included.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) noexcept { return first + below(last - first + 1); }
  /// One of `values`, which must not be empty. A value that is listed twice comes twice as often.
  std::uint64_t pick(std::initializer_list<std::uint64_t> values) noexcept {
    return values.begin()[below(values.size())];
  }
  template <typename Kind>
  requires std::is_enum_v<Kind> Kind pick(std::initializer_list<Kind> kinds)
  noexcept { return kinds.begin()[below(kinds.size())]; }
  /// True with probability `times` / `of`.
  bool chance(std::uint64_t times, std::uint64_t of) noexcept { return below(of) < times; }

 private:
  link::RandomStream stream_;
};

}  // namespace longhaul::sim
