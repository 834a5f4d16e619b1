// SPDX-License-Identifier: BSD-3-Clause
// The loop of a box whose process stands still. The test moves its ports and its clock by hand.
#include <catch2/catch.hpp>

#include <deque>
#include <functional>
#include <vector>

#include "app/box/box_loop.hpp"
#include "support/hosts.hpp"
#include "support/mbufs.hpp"

using namespace longhaul;
using namespace longhaul::app;
using namespace longhaul::test;

namespace {

/// A port whose ring the test fills.
class HandPort final : public drivers::Port {
 public:
  explicit HandPort(MbufPool& pool) : pool_(pool) {}

  std::uint16_t receive(rte_mbuf** frames, std::uint16_t count) override {
    if (before) before();
    std::uint16_t received = 0;
    for (; received < count && !ring.empty(); ring.pop_front()) frames[received++] = pool_.make(ring.front());
    if (after) after();
    return received;
  }
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) override {
    for (std::uint16_t i = 0; i < count; ++i) rte_pktmbuf_free(frames[i]);
    sent += count;
    return count;
  }
  std::string describe() const override { return "by hand"; }

  std::deque<Bytes> ring;
  std::uint64_t sent = 0;
  std::function<void()> before;  ///< called before each receive()
  std::function<void()> after;   ///< called after it

 private:
  MbufPool& pool_;
};

constexpr unsigned kFlows = 40;
static_assert(kFlows > BoxLoop::kBurst);

std::vector<Pair> many_pairs() {
  std::vector<Pair> pairs(kFlows);
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    pairs[i].a_qpn += 0x100 * i;
    pairs[i].b_qpn += 0x100 * i;
    pairs[i].a_comm += 0x100 * i;
    pairs[i].b_comm += 0x100 * i;
    pairs[i].transaction += i;
  }
  return pairs;
}

}  // namespace

TEST_CASE("a process that stood still for longer than give_up finds the answers that wait, and no flow fails") {
  const bool between_reading_and_timers = GENERATE(false, true);
  engine::PoolPlan plan;
  plan.name = "pause";
  plan.frame_bytes = 2048;
  plan.frames = 1024;
  plan.small_frames = 1024;
  engine::Pools pools = engine::Pools::create(plan);
  {
    MbufPool pool;
    HandPort host(pool);
    HandPort wan(pool);
    PortSink sink(host, wan);
    const engine::Settings settings;
    Time hand = seconds(1000);
    const drivers::Clock clock(hand);
    box::Worker worker(settings, {sink, pools}, clock.now());
    const engine::Engine& engine = worker.engine();
    const Duration pause = 2 * settings.give_up;
    Requests requests;
    BoxLoop loop(worker, host, wan, clock, {});

    const std::vector<Pair> pairs = many_pairs();
    const auto each = [&pairs](HandPort& port, auto frame) {
      for (const Pair& pair : pairs) port.ring.push_back(frame(pair));
    };
    std::uint64_t rounds_before = 0;
    std::uint64_t owed = 0;
    std::uint64_t asked = 0;
    const auto stand_still = [&] {
      asked = wan.sent;
      owed = engine.custody_packets();
      each(wan, [](const Pair& p) { return p.ack(101, 2); });
      hand += pause;
    };
    // One step after another, each once the effects of the last are over.
    std::deque<std::function<void()>> script = {
        [&] { each(host, [](const Pair& p) { return p.req(); }); },
        [&] { each(wan, [](const Pair& p) { return p.rep(); }); },
        [&] { each(host, [](const Pair& p) { return p.rtu(); }); },
        [&] { each(host, [](const Pair& p) { return p.write(100); }); },
        [&] { each(wan, [](const Pair& p) { return p.ack(100, 1); }); },
        [&] { each(host, [](const Pair& p) { return p.write(101); }); },
        [&] {
          if (between_reading_and_timers)
            wan.after = [&] {
              wan.after = nullptr;
              stand_still();
            };
          else
            stand_still();
        },
        [&] { rounds_before = loop.rounds(); },
        [&] { requests.stops = 2; },
    };
    host.before = [&] {
      hand += microseconds(1);
      if (!host.ring.empty() || !wan.ring.empty() || script.empty()) return;
      const auto next = script.front();
      script.pop_front();
      next();
    };
    const StopRecord record = loop.run(requests);

    const Counters& counters = engine.counters();
    CHECK(rounds_before > 0);
    CHECK(counters[Counter::flows_confirmed] == kFlows);
    CHECK(counters[Counter::pseudo_acks] == kFlows);
    CHECK(owed == kFlows);
    CHECK(counters[Counter::flows_failed] == 0);
    CHECK(counters[Counter::absorbed_acks] == kFlows);
    CHECK(wan.sent == asked);  // no frame is sent again either
    CHECK(engine.custody_packets() == 0);
    CHECK(counters[Counter::pauses] == 1);
    CHECK(counters[Counter::paused_ns] >= pause);
    CHECK(counters[Counter::paused_ns] < pause + milliseconds(1));
    CHECK(loop.pauses().count == 1);
    CHECK(loop.pauses().lasted == counters[Counter::paused_ns]);
    CHECK(record.ran > pause);
  }
  pools.destroy();
}
