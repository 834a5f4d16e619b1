// SPDX-License-Identifier: BSD-3-Clause
// A capture of a running box: taps at all workers for a while, then the last frames to the client.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "app/box/tap.hpp"
#include "app/box/workers.hpp"
#include "app/protocol/reply.hpp"

namespace longhaul::app {

struct CaptureRequest {
  TapFilter filter;
  std::size_t packets = 1000;
  std::uint32_t snap = 256;  ///< bytes of each frame
  std::chrono::milliseconds time{10'000};
};

/// One capture at a time.
class Capture {
 public:
  static constexpr std::size_t kMostBytes = 256u << 20;  ///< the rings of all workers together

  explicit Capture(Workers& workers) : workers_(workers) {}

  /// Runs until the time is over, stop() is called, or the client no longer waits. Writes a line for each frame, oldest
  /// first, and the last line. Throws CommandError if a capture is under way, or if this one would take too much
  /// memory.
  void run(const CaptureRequest& request, Reply& reply);
  /// False if no capture is under way.
  bool stop();

 private:
  using Taps = std::vector<std::unique_ptr<Tap>>;
  void install(bool on);
  void tell(const CaptureRequest& request, Reply& reply) const;

  Workers& workers_;
  std::mutex mutex_;
  std::atomic<bool> running_{false};
  std::atomic<bool> stop_{false};
  /// The taps of the last capture stay: a worker that did not answer may still have one.
  std::shared_ptr<Taps> taps_;
};

}  // namespace longhaul::app
