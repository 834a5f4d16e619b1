// SPDX-License-Identifier: BSD-3-Clause
// A look at every connection of running workers. It goes in portions, so that no frame waits for long, and a portion's
// size follows the time that the last one took.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "app/box/workers.hpp"
#include "base/time.hpp"
#include "engine/connection_state.hpp"

namespace longhaul::app {

/// From a clock of the standard library to the box's own.
inline Duration nanoseconds(std::chrono::steady_clock::duration duration) {
  return static_cast<Duration>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

class ConnectionWalk {
 public:
  /// How long frames may have to wait for one portion.
  static constexpr std::chrono::microseconds kPortion{30};
  /// For the answer to one portion.
  static constexpr std::chrono::milliseconds kPatience{2000};
  using Visit = std::function<void(unsigned worker, const std::vector<engine::ConnectionState>& portion)>;

  /// `workers` must outlive it.
  explicit ConnectionWalk(Workers& workers) : workers_(workers) {}

  /// Calls `visit` for each portion, in the caller's thread. Returns the longest time that a worker needed. One thread
  /// at a time. Throws WorkerSilent if a worker does not answer.
  Duration run(const Visit& visit, std::chrono::milliseconds patience = kPatience);

 private:
  Duration walk(unsigned worker, const Visit& visit, std::chrono::milliseconds patience);

  Workers& workers_;
  std::uint32_t portion_slots_ = 256;
};

}  // namespace longhaul::app
