// SPDX-License-Identifier: BSD-3-Clause
// A capture of a running box: taps at all workers for a while, then the last frames to whoever asked.
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

/// One at a time.
class Capture {
 public:
  static constexpr std::size_t kMostBytes = 256u << 20;  ///< of all workers' rings together

  explicit Capture(Workers& workers) : workers_(workers) {}

  /// Until the time is over, stop() is called, or nobody waits any more. Says a line for each frame, oldest first, and
  /// the last line. Throws CommandError when one is under way, or it would take too much memory.
  void run(const CaptureRequest& request, Reply& reply);
  /// False when none is under way.
  bool stop();

 private:
  using Taps = std::vector<std::unique_ptr<Tap>>;
  void install(bool on);
  void tell(const CaptureRequest& request, Reply& reply) const;

  Workers& workers_;
  std::mutex mutex_;
  std::atomic<bool> running_{false};
  std::atomic<bool> stop_{false};
  /// Those of the last capture stay: a worker that did not answer may still have one.
  std::shared_ptr<Taps> taps_;
};

}  // namespace longhaul::app
