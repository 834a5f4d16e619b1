// SPDX-License-Identifier: BSD-3-Clause
// The loop of one box: bursts from both ports into the engine, its frames out of both ports, time from the clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "app/box/orders.hpp"
#include "app/process/idle.hpp"
#include "app/process/stop_signals.hpp"
#include "base/side.hpp"
#include "box/worker.hpp"
#include "drivers/clock.hpp"
#include "drivers/port.hpp"
#include "engine/engine.hpp"

namespace longhaul::app {

class Tap;

/// The engine's way out: a side is a port. The ports must outlive it.
class PortSink final : public engine::Sink {
 public:
  PortSink(drivers::Port& host, drivers::Port& wan) : ports_{&host, &wan} {}
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override {
    if (tap_ != nullptr) [[unlikely]]
      return transmit_tapped(out, frames, count);
    return ports_[out]->transmit(frames, count);
  }

  /// The tap that sees what leaves, and through BoxLoop what comes in; null: none. Call in the worker's thread.
  void tap_by(Tap* tap) { tap_ = tap; }
  Tap* tap() const { return tap_; }

 private:
  std::uint16_t transmit_tapped(Side out, rte_mbuf** frames, std::uint16_t count);

  BySide<drivers::Port*> ports_;
  Tap* tap_ = nullptr;
};

/// The workers of a box stop together: one whose own custody is empty still takes frames in for the others.
class StopTogether {
 public:
  explicit StopTogether(unsigned workers) : draining_(workers) {}
  void drained() { draining_.fetch_sub(1, std::memory_order_relaxed); }
  bool all_drained() const { return draining_.load(std::memory_order_relaxed) == 0; }

 private:
  std::atomic<unsigned> draining_;
};

struct BoxLoopOptions {
  bool sleep_when_idle = false;
  Duration drain = seconds(10);      ///< the longest time after the first stop, pauses not counted
  Orders* orders = nullptr;          ///< may be null; must outlive the loop
  PortSink* sink = nullptr;          ///< whose tap sees what comes in; may be null; must outlive the loop
  StopTogether* together = nullptr;  ///< when the box has several workers; must outlive the loop
};

/// What custody held when the loop was told to stop, and when it stopped.
struct StopRecord {
  std::uint64_t at_stop_packets = 0;
  std::uint64_t at_stop_bytes = 0;
  std::uint64_t left_packets = 0;
  std::uint64_t left_bytes = 0;
  Duration ran = 0;  ///< from the first round to the last, by the clock
};

/// How often a loop stood still, and for how long in total (engine::LoopTime).
struct Pauses {
  std::uint64_t count = 0;
  Duration lasted = 0;
};

class BoxLoop {
 public:
  static constexpr std::uint16_t kBurst = 32;

  /// All arguments must outlive it.
  BoxLoop(box::Worker& worker, drivers::Port& host, drivers::Port& wan, const drivers::Clock& clock,
          BoxLoopOptions options);

  /// Runs until `requests` says stop and custody is empty, the drain time has passed, or a second stop came.
  StopRecord run(Requests& requests);

  /// Rounds begun so far. Any thread may ask. If the number does not grow, the worker stands still.
  std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

  /// Any thread may ask.
  Pauses pauses() const {
    const std::uint64_t count = pauses_.load(std::memory_order_acquire);
    return {count, paused_.load(std::memory_order_relaxed)};
  }

 private:
  /// The engine's time. Every time that the engine and the spreader get, or that is compared with theirs, is this one.
  Time now() { return worker_.time().at(clock_.now()); }
  std::uint16_t receive(Side side);
  std::uint16_t receive_from_workers();
  void to_engine(Side side, std::span<rte_mbuf* const> frames, Time received_at);

  box::Worker& worker_;
  engine::Engine& engine_;
  BySide<drivers::Port*> ports_;
  const drivers::Clock& clock_;
  BoxLoopOptions options_;
  std::atomic<std::uint64_t> rounds_{0};
  std::atomic<std::uint64_t> pauses_{0};
  std::atomic<Duration> paused_{0};
};

}  // namespace longhaul::app
