// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units, as people write them in a configuration. A number without a unit is an error unless it is 0:
// nobody can tell whether `delay: 5` means milliseconds.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace longhaul::config {

/// States what was expected and what was found: "expected a size such as 64MiB, got \"64 parsecs\"".
class QuantityError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

enum class Quantity : std::uint8_t { size, duration, rate, distance };
/// "size", "duration".
std::string_view name_of(Quantity quantity);
/// A regular expression (ECMA 262) for what is read as such a quantity: a number with one of the units, or 0.
std::string pattern_of(Quantity quantity);

// Each throws QuantityError. Fractions such as "2.5Gbps" are exact. A value that is not a whole number of the result's
// unit ("1.5B"), or does not fit, is an error.

/// Bytes: B, KiB, MiB, GiB, TiB (powers of 1024); kB, KB, MB, GB, TB (powers of 1000).
std::uint64_t parse_size(std::string_view text);
/// Nanoseconds: ns, us, ms, s, min, h.
Duration parse_duration(std::string_view text);
/// The duration as parse_duration() reads it, in the longest unit up to a second that fits: "1500ms".
std::string duration_text(Duration duration);
/// Bits per second: bps, kbps, Kbps, Mbps, Gbps, Tbps.
std::uint64_t parse_rate(std::string_view text);
/// Nanoseconds that light takes one way through a fibre of this length, at 5 us per km: m, km.
Duration parse_distance(std::string_view text);
/// 0 to 1: "1%", "0.01" or "1e-2".
double parse_fraction(std::string_view text);

}  // namespace longhaul::config
