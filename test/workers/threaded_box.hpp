// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/box/workers.hpp"
#include "drivers/clock.hpp"
#include "engine/pools.hpp"
#include "wires.hpp"

namespace longhaul::test {

inline constexpr unsigned kWorkers = 2;

inline engine::Settings box_settings() {
  engine::Settings settings;
  settings.max_connections = 64;
  settings.give_up = seconds(3600);    // the machine may stop this process for long
  settings.estimate_wan_rate = false;  // otherwise packets that wait for the estimate are not acknowledged early
  return settings;
}

/// A box whose workers have threads of their own, between wires.
struct Box {
  explicit Box(bool spread, unsigned count = kWorkers, std::optional<box::PeerSettings> peers = std::nullopt)
      : wires(std::make_unique<Wires>(count)) {
    engine::PoolPlan plan;
    plan.name = "workers";
    plan.frame_bytes = 2048;
    plan.frames = 16384;
    plan.small_frames = 16384;
    pools = engine::Pools::create(plan);
    app::WorkersOptions options;
    options.box = {box_settings(), spread, std::move(peers)};
    options.sleep_when_idle = true;  // the machine may have fewer cores than there are threads
    std::vector<app::WorkerPorts> ports;
    for (unsigned i = 0; i < count; ++i)
      ports.push_back({wires->port(Side::host, i), wires->port(Side::wan, i), pools, -1});
    workers = std::make_unique<app::Workers>(options, ports, clock);
  }
  ~Box() {
    workers.reset();
    wires.reset();
    pools.destroy();
  }

  engine::Pools pools;
  const drivers::Clock clock;
  std::unique_ptr<Wires> wires;
  std::unique_ptr<app::Workers> workers;
};

}  // namespace longhaul::test
