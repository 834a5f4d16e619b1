// SPDX-License-Identifier: BSD-3-Clause
// The home worker of a pair of hosts: by the hash that a NIC's receive side scaling (RSS) computes from the two IP
// addresses, made symmetric so that both directions give the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/frame.hpp"

namespace longhaul::steer {

/// A worker's number; worker 0 runs in the main thread.
using Worker = std::uint16_t;

/// The most workers that a box may have: as many as the indirection table below has entries.
inline constexpr unsigned kMaxWorkers = 64;

/// The Toeplitz key is these two bytes over and over: with it both directions of a pair have one hash (Woo and Park,
/// KAIST 2012).
inline constexpr std::array<std::uint8_t, 2> kRssKeyPattern = {0x6d, 0x5a};

/// Entries of the indirection table, by the hash's low bits. A NIC's table has as many or a multiple of that, and is
/// filled with these over and over.
inline constexpr std::size_t kIndirection = 64;

constexpr Worker worker_of_entry(std::size_t entry, unsigned workers) noexcept {
  return static_cast<Worker>(entry % kIndirection % workers);
}

/// The Toeplitz hash of source and destination address under the key above, as a NIC computes it.
std::uint32_t pair_hash(const wire::IpAddress& source, const wire::IpAddress& destination) noexcept;

/// The home of two hosts among `workers`.
inline Worker home_of(const wire::IpAddress& one, const wire::IpAddress& other, unsigned workers) noexcept {
  return worker_of_entry(pair_hash(one, other), workers);
}
inline Worker home_of(const wire::Frame& frame, unsigned workers) noexcept {
  return home_of(frame.source, frame.destination, workers);
}

}  // namespace longhaul::steer
