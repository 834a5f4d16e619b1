// SPDX-License-Identifier: BSD-3-Clause
// One worker of a box: its engine and, with several workers, what spreads frames over all of them. The program's loop
// or the testbed drives it and brings frames and time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "custody/observer.hpp"
#include "engine/engine.hpp"
#include "engine/loop_time.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"
#include "engine/shared.hpp"
#include "metrics/counter_set.hpp"
#include "steer/hand_over.hpp"
#include "steer/shown_sink.hpp"
#include "steer/spreader.hpp"

namespace longhaul::box {

class PeerDesk;
class PeerWindow;

/// What a worker runs with. All must outlive it.
struct WorkerPlace {
  engine::Sink& ports;
  const engine::Pools& pools;
  custody::Observer* observer = nullptr;  ///< may be null
  int socket = -1;                        ///< NUMA socket: connections are spread over workers of the same socket only
};

class Worker {
 public:
  /// The only worker of a box: all frames are its own. `clock`: what its clock says now.
  Worker(const engine::Settings& settings, const WorkerPlace& place, Time clock);

  /// What several workers have in common.
  struct Common {
    steer::HandOverRings& rings;
    rte_mempool* shown;  ///< a steer::make_shown_pool()
    engine::Shared& shared;
  };
  /// One of several workers. `steering.own_engine_knows` is set here.
  Worker(const engine::Settings& settings, const WorkerPlace& place, Time clock, steer::SteeringSettings steering,
         const Common& common);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Takes a burst from a port, kBurst frames at most: hands over the frames of other workers, and passes the rest to
  /// `deliver(side, frames)`, which gives them to the engine.
  template <typename Deliver>
  void take_in(Side side, std::span<rte_mbuf*> frames, Time now, Deliver&& deliver) {
    if (spreader_)
      frames = frames.first(spreader_->keep(side, frames.data(), static_cast<std::uint16_t>(frames.size()), now));
    if (!frames.empty()) deliver(side, std::span<rte_mbuf* const>(frames));
  }

  /// Takes the next burst that `from` handed over. The frames for this worker's engine go to `deliver(side, frames)`.
  /// Returns how many frames the burst had: kBurst means that there may be more.
  template <typename Deliver>
  std::uint16_t take_over(steer::Worker from, Time now, Deliver&& deliver) {
    steer::Received received;
    const std::uint16_t count = spreader_->take(from, received, now);
    // First: the engine must know a REQ that it is shown before the REP, which may be in a burst.
    for (std::uint16_t i = 0; i < received.shown_count; ++i)
      deliver(received.shown[i].side, std::span<rte_mbuf* const>(&received.shown[i].frame, 1));
    for (const Side side : kSides)
      if (const auto& burst = received.bursts[side]; burst.count > 0)
        deliver(side, std::span<rte_mbuf* const>(burst.frames.data(), burst.count));
    return count;
  }

  /// Its frames for the box itself go to `desk`, which must outlive it, and its engine repairs flows with the desk's
  /// peers. `number`: the worker's; 0 attends to the desk. Call at most once, before the first frame.
  void use(PeerDesk& desk, unsigned number);
  /// Hears and answers the box's peers, if there are any. Call once a round.
  void attend_peers(Time now) {
    if (window_ != nullptr) [[unlikely]]
      attend_window(now);
  }
  /// When Engine::poll() or attend_peers() next has something to do.
  Time next_deadline() const;
  /// Null when another worker has the peers, or there are none.
  PeerDesk* desk() const { return desk_; }

  engine::Engine& engine() { return engine_; }
  const engine::Engine& engine() const { return engine_; }
  engine::LoopTime& time() { return time_; }
  const engine::LoopTime& time() const { return time_; }
  /// Those of the engine and of the spreader.
  Counters counters() const;
  /// One of them.
  std::uint64_t count(Counter counter) const {
    return engine_.counters()[counter] + (spreader_ ? spreader_->counters()[counter] : 0);
  }
  /// Takes over the worker's share of new settings. Known connections keep their policy until Engine::apply_policies();
  /// tables keep their size.
  void reconfigure(const engine::Settings& share);

  /// Null for the only worker of a box.
  steer::Spreader* spreader() { return spreader_ ? &*spreader_ : nullptr; }
  const steer::Spreader* spreader() const { return spreader_ ? &*spreader_ : nullptr; }

 private:
  steer::SteeringSettings asking(steer::SteeringSettings steering) const;
  void attend_window(Time now);

  // With several workers only, both.
  std::optional<steer::Spreader> spreader_;
  std::optional<steer::ShownSink> sink_;
  engine::Engine engine_;
  engine::LoopTime time_;
  PeerDesk* desk_ = nullptr;  ///< worker 0's
  PeerWindow* window_ = nullptr;
};

}  // namespace longhaul::box
