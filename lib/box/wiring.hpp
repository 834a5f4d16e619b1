// SPDX-License-Identifier: BSD-3-Clause
// A box: its workers, and what they have in common. The program gives each worker a thread and real ports, the testbed
// gives them virtual time. Both use this wiring.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "box/peer_desk.hpp"
#include "box/share.hpp"
#include "box/worker.hpp"
#include "custody/restart_record.hpp"
#include "engine/settings.hpp"
#include "engine/shared.hpp"
#include "steer/hand_over.hpp"

struct rte_mempool;

namespace longhaul::box {

struct Settings {
  engine::Settings engine;         ///< of the whole box: each worker gets its share (share_of())
  bool spread_connections = true;  ///< false: all connections of two hosts stay with their home worker
  std::optional<PeerSettings> peers = std::nullopt;  ///< none: the box has no address, and works alone
};

class Wiring {
 public:
  /// Carries out `work` where `worker` will run, so that the worker's tables are in its own socket's memory.
  using RunOn = std::function<void(unsigned worker, const std::function<void()>& work)>;

  /// One worker for each of `places`. `clock`: what their clock says now. Throws what an engine throws.
  Wiring(const Settings& settings, std::vector<WorkerPlace> places, Time clock, const RunOn& run_on = here);
  ~Wiring();
  Wiring(const Wiring&) = delete;
  Wiring& operator=(const Wiring&) = delete;

  /// As engine::Engine::use_record(); `record` has record_slots() slots. Flows that an earlier process left owing go to
  /// the worker whose part they are in, however many workers that process had.
  void use_record(std::span<custody::RecordSlot> record, Time now);

  /// Each worker's share of new settings. Tables keep their size.
  engine::Settings share_of(const engine::Settings& box) const { return box::share_of(box, count()); }

  unsigned count() const { return static_cast<unsigned>(workers_.size()); }
  std::span<const std::unique_ptr<Worker>> workers() const { return workers_; }
  /// What each worker was made with.
  const engine::Settings& share() const { return share_; }

 private:
  static void here(unsigned worker, const std::function<void()>& work) { work(); }
  std::unique_ptr<Worker> make(unsigned number, Time clock);
  void open_desk(Time clock, const RunOn& run_on);

  Settings settings_;
  engine::Settings share_;
  std::vector<WorkerPlace> places_;
  steer::HandOverRings rings_;
  engine::Shared shared_;
  rte_mempool* shown_ = nullptr;  ///< with several workers only
  std::unique_ptr<PeerDesk> desk_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace longhaul::box
