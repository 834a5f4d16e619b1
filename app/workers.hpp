// SPDX-License-Identifier: BSD-3-Clause
// The workers of a box: an engine each, on a core each, with a queue of both ports each. They share nothing but rings
// of frames, news of next hops and a few flags; other threads ask them by orders.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "app/box_loop.hpp"
#include "app/flow_log.hpp"
#include "app/orders.hpp"
#include "app/report.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"
#include "engine/shared.hpp"
#include "steer/hand_over.hpp"

struct rte_mempool;

namespace longhaul::app {

/// What a worker gets of what the configuration grants the box: limits, rates and tables are divided evenly, what is
/// for each flow stays.
engine::Settings share_of(const engine::Settings& box, unsigned workers);

struct WorkersOptions {
  engine::Settings engine;         ///< of the whole box
  bool spread_connections = true;  ///< false: all connections of two hosts stay with their home worker
  bool sleep_when_idle = false;
  Duration drain = seconds(10);
};

/// What a worker runs with. Worker i is lcore i; worker 0 is the calling thread.
struct WorkerPlace {
  drivers::Port& host;
  drivers::Port& wan;
  const engine::Pools& pools;
  int socket = -1;  ///< NUMA socket; connections are spread over workers of the same one only
};

class Workers {
 public:
  /// Makes each engine on its own lcore, so that its tables are in its own socket's memory. `places` and the clock must
  /// outlive it. Throws what an engine throws.
  Workers(const WorkersOptions& options, std::vector<WorkerPlace> places, const drivers::Clock& clock);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Slots that use_record() needs: each worker has its own part of them.
  static std::uint32_t record_slots(const engine::Settings& box, unsigned workers);
  /// As engine::Engine::use_record(). Flows that an earlier process left owing go to the worker whose part they are in,
  /// however many workers that process had.
  void use_record(std::span<custody::RecordSlot> record);

  /// Runs all of them; ends as BoxLoop::run() does.
  StopRecord run(Requests& requests);

  // While they run, for one other thread or several. All throw WorkerSilent.

  /// Has a worker carry out `order`.
  void order(unsigned worker, Order order, std::chrono::milliseconds patience = kPatience);
  /// Has all do so at once, each its own copy made by `make`, and waits until the last is done.
  void order_all(const std::function<Order(unsigned worker)>& make, std::chrono::milliseconds patience = kPatience);
  static constexpr std::chrono::milliseconds kPatience{2000};
  /// One's.
  BoxReport ask_report(unsigned worker, std::chrono::milliseconds patience = kPatience);
  /// Each worker's, as of now.
  std::vector<BoxReport> ask_reports();
  /// Rounds of its loop: those of a worker that stands still do not grow.
  std::uint64_t rounds(unsigned worker) const;
  /// Its BoxLoop::pauses().
  Pauses pauses(unsigned worker) const;

  /// Each worker's, as of now. Not while they run.
  std::vector<BoxReport> reports() const;
  std::uint64_t unconfirmed_bytes() const;

  const drivers::Clock& clock() const { return clock_; }
  unsigned count() const { return static_cast<unsigned>(workers_.size()); }

 private:
  struct Worker;
  void make(unsigned number);
  BoxLoopOptions loop_options(unsigned number);
  void order_some(unsigned first, unsigned end, const std::function<Order(unsigned worker)>& make,
                  std::chrono::milliseconds patience);

  WorkersOptions options_;
  engine::Settings share_;
  std::vector<WorkerPlace> places_;
  const drivers::Clock& clock_;
  steer::HandOverRings rings_;
  engine::Shared shared_;
  rte_mempool* shown_ = nullptr;  ///< only with several workers
  StopTogether together_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

/// The sum of all.
BoxReport total(std::span<const BoxReport> reports);

}  // namespace longhaul::app
