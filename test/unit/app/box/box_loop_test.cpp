// SPDX-License-Identifier: BSD-3-Clause
// The loop of a box between two wires in memory.
#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <thread>

#include "app/box/box_loop.hpp"
#include "drivers/memory_port.hpp"
#include "support/mbufs.hpp"

using namespace longhaul;
using namespace longhaul::app;

TEST_CASE("a box on memory ports passes what it does not understand, carries out orders and stops when asked") {
  engine::PoolPlan plan;
  plan.name = "loop";
  plan.frame_bytes = 2048;
  plan.frames = 1024;
  plan.small_frames = 1024;
  engine::Pools pools = engine::Pools::create(plan);
  test::MbufPool pool;
  {
    auto [host, host_box] = drivers::MemoryPort::make_wire("host", 63);
    auto [wan, wan_box] = drivers::MemoryPort::make_wire("wan", 63);
    PortSink sink(*host_box, *wan_box);
    const engine::Settings settings;
    const drivers::Clock clock;
    box::Worker box(settings, {sink, pools}, clock.now());
    Requests requests;
    int portions = 0;
    std::uint64_t frames_seen = 0;
    BoxLoopOptions options;
    options.sleep_when_idle = GENERATE(false, true);
    Orders orders;
    options.orders = &orders;
    BoxLoop loop(box, *host_box, *wan_box, clock, options);
    StopRecord record;
    std::thread worker([&] { record = loop.run(requests); });

    const std::vector<std::uint8_t> arp(60, 0x55);
    rte_mbuf* sent = pool.make(arp);
    REQUIRE(host->transmit(&sent, 1) == 1);
    rte_mbuf* got = nullptr;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (wan->receive(&got, 1) == 0 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    // An order takes as many portions as it wants.
    orders.wait(orders.post(
                    [&](WorkerAccess& access) {
                      frames_seen = access.engine.counters()[Counter::frames_host];
                      return ++portions == 3;
                    },
                    give_up),
                give_up);
    CHECK_THROWS_WITH(
        orders.wait(orders.post([](WorkerAccess&) -> bool { throw std::runtime_error("no"); }, give_up), give_up),
        "no");
    // An order that never ends is taken back, and the next one gets its turn.
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    CHECK_THROWS_AS(orders.wait(orders.post([](WorkerAccess&) { return false; }, soon), soon), WorkerSilent);
    expose::Activity activity;
    orders.wait(orders.post(
                    [&activity](WorkerAccess& access) {
                      activity = access.activity;
                      return true;
                    },
                    give_up),
                give_up);
    requests.stops = 1;
    worker.join();

    REQUIRE(got != nullptr);
    CHECK(test::bytes_of(got) == arp);
    rte_pktmbuf_free(got);
    CHECK(portions == 3);
    CHECK(frames_seen == 1);
    CHECK(activity.rounds > 3);
    CHECK(activity.busy > 0);
    CHECK(activity.busy <= activity.ran);
    CHECK(record.left_packets == 0);
    CHECK(record.ran > 0);
    CHECK(box.engine().counters()[Counter::frames_host] == 1);
    CHECK(box.engine().counters()[Counter::forwarded_wan] == 1);
  }
  pools.destroy();
}
