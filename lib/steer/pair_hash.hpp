// SPDX-License-Identifier: BSD-3-Clause
// Which worker is home to a pair of hosts: what a NIC's receive side scaling (RSS) computes from the two IP addresses,
// made symmetric so that both directions give the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/frame.hpp"

namespace longhaul::steer {

/// A worker's number: 0 is the one of the main thread.
using Worker = std::uint16_t;

/// The most that a box may have: as many as the indirection table below has entries.
inline constexpr unsigned kMaxWorkers = 64;

/// Two bytes over and over: with this Toeplitz key both directions of a pair have one hash (Woo and Park, KAIST 2012).
inline constexpr std::array<std::uint8_t, 2> kRssKeyPattern = {0x6d, 0x5a};

/// Entries of the indirection table, by the hash's low bits. A NIC's table, which has as many or a multiple of that, is
/// filled over and over with these.
inline constexpr std::size_t kIndirection = 64;

constexpr Worker worker_of_entry(std::size_t entry, unsigned workers) noexcept {
  return static_cast<Worker>(entry % kIndirection % workers);
}

/// The Toeplitz hash of source and destination address under the key above, as a NIC has it.
std::uint32_t pair_hash(const wire::IpAddress& source, const wire::IpAddress& destination) noexcept;

/// The home of two hosts among `workers`.
inline Worker home_of(const wire::IpAddress& one, const wire::IpAddress& other, unsigned workers) noexcept {
  return worker_of_entry(pair_hash(one, other), workers);
}
inline Worker home_of(const wire::Frame& frame, unsigned workers) noexcept {
  return home_of(frame.source, frame.destination, workers);
}

}  // namespace longhaul::steer
