// SPDX-License-Identifier: BSD-3-Clause
// Work that other threads give to a worker, to do between two rounds of its loop. The worker looks for an order once a
// round. Nothing else is shared.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "base/time.hpp"
#include "box/worker.hpp"
#include "expose/worker_report.hpp"

namespace longhaul::app {

class PortSink;

/// What an order gets to see of a worker.
struct WorkerAccess {
  box::Worker& worker;
  expose::Activity activity;
  Time now;         ///< the engine's time: pauses are left out, so it may differ between workers
  Duration& drain;  ///< how long the first stop waits for custody to empty
  PortSink* sink;   ///< may be null
  engine::Engine& engine = worker.engine();
};

/// Does a portion of the work. Returns true if it was the last. Frames wait meanwhile; some microseconds are fine.
using Order = std::function<bool(WorkerAccess&)>;

/// The worker did not carry out an order in time: it stands still, or has stopped.
class WorkerSilent : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// The orders of one worker, one at a time.
class Orders {
  struct Given {
    Order order;
    std::exception_ptr failure = nullptr;
    std::atomic<bool> done{false};
    std::atomic<bool> given_up{false};  ///< nobody waits: no further portion
  };

 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// An order under way. Nobody else gets a turn until wait().
  class Ticket {
    friend class Orders;
    std::unique_lock<std::mutex> turn;
    std::shared_ptr<Given> given;
  };

  // For any thread but the worker's. Both throw WorkerSilent at the deadline. The order may then still be under way, so
  // it must own what it refers to.

  Ticket post(Order order, Deadline deadline);
  /// Waits until the order is done. Rethrows what it threw.
  void wait(Ticket ticket, Deadline deadline);

  /// For the worker, once a round.
  bool waiting() const { return next_.load(std::memory_order_acquire) != nullptr; }
  void carry_out(WorkerAccess& access);
  /// The worker's loop has ended: threads that wait, or that come later, fail at once.
  void close() { closed_.store(true, std::memory_order_release); }

 private:
  bool done_by(const std::atomic<bool>& done, Deadline deadline) const;

  std::mutex turn_;
  std::shared_ptr<Given> given_;  ///< until it is done or taken back
  std::atomic<Given*> next_{nullptr};
  std::atomic<bool> closed_{false};
};

}  // namespace longhaul::app
