// SPDX-License-Identifier: BSD-3-Clause
// The workers of a box. Each has an engine, a core, and a queue of both ports. They share only rings of frames, news of
// next hops and a few flags. Other threads give them orders.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "app/box/box_loop.hpp"
#include "app/box/flow_log.hpp"
#include "app/box/orders.hpp"
#include "box/wiring.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"
#include "expose/worker_report.hpp"

namespace longhaul::app {

struct WorkersOptions {
  box::Settings box;
  bool sleep_when_idle = false;
  Duration drain = seconds(10);
};

/// What a worker runs with. Worker i is lcore i; worker 0 is the calling thread.
struct WorkerPorts {
  drivers::Port& host;
  drivers::Port& wan;
  const engine::Pools& pools;
  int socket = -1;  ///< NUMA socket (box::WorkerPlace)
};

class Workers {
 public:
  /// Makes each engine on its own lcore (box::Wiring). Ports, pools and the clock must outlive it. Throws what an
  /// engine throws.
  Workers(const WorkersOptions& options, const std::vector<WorkerPorts>& ports, const drivers::Clock& clock);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// box::Wiring::use_record().
  void use_record(std::span<custody::RecordSlot> record) { wiring_->use_record(record, clock_.now()); }

  /// Runs all workers. Ends as BoxLoop::run() does.
  StopRecord run(Requests& requests);

  // While they run, for one or several other threads. All throw WorkerSilent.

  /// Has a worker carry out `order`.
  void order(unsigned worker, Order order, std::chrono::milliseconds patience = kPatience);
  /// Has all workers carry out an order at the same time, each its own from `make`. Waits until the last is done.
  void order_all(const std::function<Order(unsigned worker)>& make, std::chrono::milliseconds patience = kPatience);
  static constexpr std::chrono::milliseconds kPatience{2000};
  /// The report of one worker.
  expose::WorkerReport ask_report(unsigned worker, std::chrono::milliseconds patience = kPatience);
  /// Rounds of the worker's loop. If they do not grow, the worker stands still.
  std::uint64_t rounds(unsigned worker) const;
  /// Its BoxLoop::pauses().
  Pauses pauses(unsigned worker) const;

  /// The report of each worker, as of now. Do not call while they run.
  std::vector<expose::WorkerReport> reports() const;
  std::uint64_t unconfirmed_bytes() const;

  const drivers::Clock& clock() const { return clock_; }
  const box::Wiring& wiring() const { return *wiring_; }
  unsigned count() const { return static_cast<unsigned>(workers_.size()); }

 private:
  struct Worker;
  BoxLoopOptions loop_options(unsigned number);
  void order_some(unsigned first, unsigned end, const std::function<Order(unsigned worker)>& make,
                  std::chrono::milliseconds patience);

  WorkersOptions options_;
  const drivers::Clock& clock_;
  StopTogether together_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<box::Wiring> wiring_;  ///< destroyed before the workers' sinks and logs
};

}  // namespace longhaul::app
