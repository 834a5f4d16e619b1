// SPDX-License-Identifier: BSD-3-Clause
// What the attendant watches while a box runs: its workers and its links.
#pragma once

#include "app/box/link_follow.hpp"
#include "app/box/pause_watch.hpp"
#include "app/box/worker_watch.hpp"
#include "app/box/workers.hpp"
#include "app/process/attendant.hpp"
#include "app/process/runtime.hpp"
#include "app/process/service_notifier.hpp"
#include "app/process/stop_signals.hpp"
#include "base/side.hpp"
#include "config/box_config.hpp"

namespace longhaul::app {

class BoxWatch {
 public:
  /// The process's exit status if a worker stands still and the configuration says to exit.
  static constexpr int kStalled = 3;

  /// Sets both links up if they are to follow each other. All arguments must outlive it. Throws std::runtime_error if a
  /// driver cannot set its link.
  BoxWatch(const config::BoxConfig& config, Workers& workers, Runtime& runtime);
  /// Takes both links down if they follow each other, because the box no longer passes anything.
  ~BoxWatch();
  BoxWatch(const BoxWatch&) = delete;
  BoxWatch& operator=(const BoxWatch&) = delete;

  /// Call before the attendant starts. `service` is told that all workers make progress, and that the end has begun. It
  /// must outlive this object.
  void attend_by(Attendant& attendant, ServiceNotifier& service, const Requests& requests);

 private:
  void look_at_workers();
  void look_at_pauses();
  void look_at_links();
  drivers::EthdevPort& port(Side side) { return side == Side::host ? runtime_.first() : runtime_.second(); }

  const config::BoxConfig& config_;
  Workers& workers_;
  Runtime& runtime_;
  WorkerWatch watch_;
  PauseWatch pauses_;
  LinkFollow follow_;
  BySide<bool> was_up_{true, true};
};

}  // namespace longhaul::app
