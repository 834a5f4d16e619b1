// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace longhaul::link {

/// SplitMix64 (Steele, Lea, Flood 2014): one stream per direction and kind of impairment, so that turning one kind on
/// does not shift what another one does.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t direction, std::uint64_t kind) noexcept
      : state_(mix(mix(mix(seed) + direction) + kind)) {}

  std::uint64_t next() noexcept { return mix(state_ += kGamma); }

  /// From 0 up to, not including, 1.
  double fraction() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// True for this fraction of calls. Draws exactly once.
  bool chance(double probability) noexcept { return fraction() < probability; }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;

  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace longhaul::link
