// SPDX-License-Identifier: BSD-3-Clause
// What other threads have a worker do between two rounds of its loop: it looks once a round whether there is an order,
// and nothing else is shared.
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

namespace longhaul::app {

class PortSink;

/// What a worker did with its time, by its own count.
struct Activity {
  std::uint64_t rounds = 0;
  Duration ran = 0;   ///< since the loop began, pauses not counted
  Duration busy = 0;  ///< of that, rounds in which frames came
};

/// A worker as an order sees it.
struct WorkerAccess {
  box::Worker& worker;
  Activity activity;
  Time now;         ///< the engine's: pauses are left out, and no two workers' need be the same
  Duration& drain;  ///< how long the first stop waits for custody to empty
  PortSink* sink;   ///< may be null
  engine::Engine& engine = worker.engine();
};

/// A portion of the work: true when that was the last. Frames wait for as long as it takes; some microseconds are fine.
using Order = std::function<bool(WorkerAccess&)>;

/// The worker did not carry out an order in time: it stands still, or has stopped.
class WorkerSilent : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// One worker's, one order at a time.
class Orders {
  struct Given {
    Order order;
    std::exception_ptr failure = nullptr;
    std::atomic<bool> done{false};
    std::atomic<bool> given_up{false};  ///< nobody waits: no further portion
  };

 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// An order under way, and nobody else's turn until wait().
  class Ticket {
    friend class Orders;
    std::unique_lock<std::mutex> turn;
    std::shared_ptr<Given> given;
  };

  // Any thread but the worker's. Both throw WorkerSilent at the deadline. The order may then be at work still: what it
  // refers to must be its own.

  Ticket post(Order order, Deadline deadline);
  /// Until the order is done. Rethrows what it threw.
  void wait(Ticket ticket, Deadline deadline);

  /// The worker's, once a round.
  bool waiting() const { return next_.load(std::memory_order_acquire) != nullptr; }
  void carry_out(WorkerAccess& access);
  /// Its loop has ended: whoever waits, or comes, need not be patient.
  void close() { closed_.store(true, std::memory_order_release); }

 private:
  bool done_by(const std::atomic<bool>& done, Deadline deadline) const;

  std::mutex turn_;
  std::shared_ptr<Given> given_;  ///< until it is done or taken back
  std::atomic<Given*> next_{nullptr};
  std::atomic<bool> closed_{false};
};

}  // namespace longhaul::app
