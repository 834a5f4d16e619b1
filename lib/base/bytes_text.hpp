// SPDX-License-Identifier: BSD-3-Clause
// Bytes for people: powers of 1024, as configurations are written. (Rates are in bit/s, powers of 1000.)
#pragma once

#include <cstdint>
#include <string>

namespace longhaul {

/// An amount, rounded to three figures: "12.5 MiB", "4.00 GiB", "512 B".
std::string bytes_text(double bytes);
/// A size that somebody has chosen, exactly: "64 KiB", "4178 B".
std::string size_text(std::uint64_t bytes);

}  // namespace longhaul
