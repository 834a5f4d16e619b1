// SPDX-License-Identifier: BSD-3-Clause
// What the attendant watches over while a box runs: its workers, and its links.
#pragma once

#include "app/box/link_follow.hpp"
#include "app/box/pause_watch.hpp"
#include "app/box/worker_watch.hpp"
#include "app/box/workers.hpp"
#include "app/process/attendant.hpp"
#include "app/process/runtime.hpp"
#include "app/process/service_notifier.hpp"
#include "app/process/stop_signals.hpp"
#include "config/box_config.hpp"

namespace longhaul::app {

class BoxWatch {
 public:
  /// The status that the process exits with when a worker stands still and it shall not go on without.
  static constexpr int kStalled = 3;

  /// Sets both links up if they are to follow each other. All must outlive it. Throws std::runtime_error when a driver
  /// cannot set its link.
  BoxWatch(const config::BoxConfig& config, Workers& workers, Runtime& runtime);
  /// With links that follow each other takes both down: the box passes nothing any more.
  ~BoxWatch();
  BoxWatch(const BoxWatch&) = delete;
  BoxWatch& operator=(const BoxWatch&) = delete;

  /// Before the attendant starts. `service` hears that all workers make progress, and of the end; it must outlive this.
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
  bool was_up_[2] = {true, true};
};

}  // namespace longhaul::app
