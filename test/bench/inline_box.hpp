// SPDX-License-Identifier: BSD-3-Clause
// The engine alone as a device, to count its instructions and to time it without a loop around it.
#pragma once

#include "box/worker.hpp"
#include "drivers/port.hpp"
#include "test/bench/device.hpp"
#include "test/bench/ring_ports.hpp"

namespace longhaul::bench {

/// Runs in the thread that hands out chunks, in virtual time, so the same frames mean the same instructions each time.
/// In a measured chunk callgrind collects only what the engine does, without the ports.
class InlineBox final : public Device, engine::Sink {
 public:
  InlineBox(PortPair ports, const engine::Settings& settings, const engine::Pools& pools)
      : ports_(ports), worker_(settings, {*this, pools}, now_) {}

  std::string name() const override { return "engine"; }
  bool accelerates() const override { return true; }
  void resume() override {}
  void pause() override {}
  void wait(std::chrono::nanoseconds time) override { now_ += static_cast<Time>(time.count()); }
  void prepare(bool measured) override { measured_ = measured; }
  void offered(std::uint64_t frames) override;
  std::optional<Work> done() override { return work_; }
  bool preempted() const override { return preempted_; }
  std::string complaint() const override;
  box::Worker& worker() { return worker_; }
  Time now() const { return now_; }

 private:
  void turn(std::span<rte_mbuf* const> from_host, std::span<rte_mbuf* const> from_wan);
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;

  PortPair ports_;
  Time now_ = seconds(1000);
  box::Worker worker_;
  engine::Engine& engine_ = worker_.engine();
  bool measured_ = false;
  bool preempted_ = false;
  Work work_;
};

}  // namespace longhaul::bench
