// SPDX-License-Identifier: BSD-3-Clause
// Questions to running workers: the answers are true, and there are answers even if a worker stands still.
#include <catch2/catch.hpp>

#include <rte_mbuf.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "app/box/gatherer.hpp"
#include "drivers/memory_port.hpp"
#include "support/mbufs.hpp"

using namespace longhaul;
using namespace longhaul::app;

namespace {

/// A box with one worker in a thread of its own.
struct RunningBox {
  RunningBox() {
    engine::PoolPlan plan;
    plan.name = "gatherer";
    plan.frame_bytes = 2048;
    plan.frames = 1024;
    plan.small_frames = 1024;
    pools = engine::Pools::create(plan);
    WorkersOptions options;
    options.box.engine.max_connections = 2000;
    options.sleep_when_idle = true;
    workers = std::make_unique<Workers>(options, std::vector<WorkerPorts>{{*wan_wire.second, *host_wire.second, pools}},
                                        clock);
    thread = std::thread([this] { workers->run(requests); });
  }
  ~RunningBox() {
    requests.stops = 2;
    thread.join();
    workers.reset();
    pools.destroy();
  }

  engine::Pools pools;
  const drivers::Clock clock;
  std::pair<std::unique_ptr<drivers::MemoryPort>, std::unique_ptr<drivers::MemoryPort>> host_wire =
      drivers::MemoryPort::make_wire("host", 63);
  std::pair<std::unique_ptr<drivers::MemoryPort>, std::unique_ptr<drivers::MemoryPort>> wan_wire =
      drivers::MemoryPort::make_wire("wan", 63);
  std::unique_ptr<Workers> workers;
  Requests requests;
  std::thread thread;
};

expose::PortState no_port(Side) { return {}; }

/// A snapshot that was not given before.
std::shared_ptr<const expose::Snapshot> fresh(Gatherer& gatherer) {
  const auto last = gatherer.snapshot();
  for (;;) {
    auto next = gatherer.snapshot();
    if (next != last) return next;
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("a snapshot has what the workers have counted, and a survey all connections") {
  RunningBox box;
  Gatherer gatherer(*box.workers, box.requests, {}, no_port, 10);
  gatherer.survey();
  const auto snapshot = fresh(gatherer);
  REQUIRE(snapshot->workers.size() == 1);
  CHECK(snapshot->workers[0].alive);
  CHECK(snapshot->workers[0].report.activity.rounds > 0);
  CHECK(snapshot->survey.made);
  CHECK(snapshot->survey.pairs_seen == 0);
  CHECK(snapshot->state() == expose::State::running);
  const std::uint64_t rounds = snapshot->workers[0].report.activity.rounds;
  CHECK(fresh(gatherer)->workers[0].report.activity.rounds > rounds);

  expose::Identity changed;
  changed.name = "another";
  gatherer.identify(changed);
  CHECK(gatherer.snapshot()->identity.name == "another");
}

TEST_CASE("a worker that stands still is said to, its last values stay, and it comes back") {
  RunningBox box;
  Gatherer gatherer(*box.workers, box.requests, {}, no_port, 10);
  const std::uint64_t rounds = fresh(gatherer)->workers[0].report.activity.rounds;

  const auto go_on = std::make_shared<std::atomic<bool>>(false);
  std::thread stopper([&] {
    CHECK_THROWS_AS(box.workers->order(
                        0,
                        [go_on](WorkerAccess&) {
                          while (!*go_on) std::this_thread::yield();
                          return true;
                        },
                        std::chrono::milliseconds(100)),
                    WorkerSilent);
  });
  stopper.join();
  const auto silent = fresh(gatherer);
  CHECK_FALSE(silent->workers[0].alive);
  CHECK(silent->workers[0].report.activity.rounds >= rounds);
  CHECK(silent->age > 0);
  CHECK_THROWS_AS(gatherer.survey(), WorkerSilent);
  // Many clients that ask meanwhile all get an answer.
  std::vector<std::future<std::shared_ptr<const expose::Snapshot>>> many;
  for (int i = 0; i < 8; ++i) many.push_back(std::async(std::launch::async, [&] { return gatherer.snapshot(); }));
  for (auto& each : many) CHECK_FALSE(each.get()->workers[0].alive);

  *go_on = true;
  std::shared_ptr<const expose::Snapshot> again;
  do {
    again = fresh(gatherer);
  } while (!again->workers[0].alive ||
           again->workers[0].report.activity.rounds <= silent->workers[0].report.activity.rounds);
  CHECK(again->workers[0].report.activity.rounds > silent->workers[0].report.activity.rounds);
}
