// SPDX-License-Identifier: BSD-3-Clause
#include "rig.hpp"

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <utility>

namespace longhaul::test {

namespace {

void start_eal() {
  std::vector<std::string> words = {"unit", "--no-huge",      "--no-shconf", "--no-pci",     "-m",
                                    "512",  "--no-telemetry", "--log-level", "lib.eal:error"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  // The EAL pins the calling thread. Tests that run at the same time would all share its core.
  cpu_set_t processors;
  sched_getaffinity(0, sizeof(processors), &processors);
  if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0)
    throw std::runtime_error("EAL does not start");
  sched_setaffinity(0, sizeof(processors), &processors);
}

/// The EAL and its pools live as long as the process.
const engine::Pools& pools() {
  static const engine::Pools made = [] {
    start_eal();
    engine::PoolPlan plan;
    plan.name = "rig";
    plan.frame_bytes = 4400;
    plan.frames = 8192;
    plan.small_frames = 16384;
    return engine::Pools::create(plan);
  }();
  return made;
}

std::vector<unsigned> in_use() {
  std::vector<unsigned> counts{rte_mempool_in_use_count(pools().frames)};
  for (const rte_mempool* pool : pools().small) counts.push_back(rte_mempool_in_use_count(pool));
  counts.push_back(rte_mempool_in_use_count(pools().made));
  return counts;
}

}  // namespace

engine::Settings small_settings() {
  engine::Settings settings;
  settings.max_connections = 16;
  settings.max_pending_cm = 16;
  settings.estimate_wan_rate = false;
  settings.cnp.send = false;  // tests of congestion switch them on
  settings.reorder_wait = 0;
  settings.ack_unasked = 0;
  return settings;
}

engine::Settings slow_settings() {
  auto settings = small_settings();
  settings.wan_rate_bps = 1'000'000;
  settings.rto_min = seconds(10);
  return settings;
}

engine::Settings four_unanswered() {
  auto settings = small_settings();
  settings.initial_window_bytes = 4 * Pair{}.write(0).size();
  return settings;
}

Rig::Rig(const engine::Settings& settings, custody::Observer* observer) {
  const engine::Pools& shared = pools();
  in_use_before_ = in_use();
  engine = std::make_unique<engine::Engine>(settings, shared, *this, observer);
}

Rig::~Rig() {
  engine.reset();
  complete(0);
  if (std::uncaught_exceptions() == 0) CHECK(in_use() == in_use_before_);
}

unsigned Rig::small_buffers_in_use() {
  unsigned count = 0;
  for (const rte_mempool* pool : pools().small) count += rte_mempool_in_use_count(pool);
  return count;
}

void Rig::receive(Side side, const std::vector<Bytes>& burst) {
  std::vector<rte_mbuf*> frames;
  for (const Bytes& bytes : burst) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pools().frames);
    REQUIRE(mbuf != nullptr);
    std::copy(bytes.begin(), bytes.end(), rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size())));
    frames.push_back(mbuf);
  }
  engine->receive(side, frames, now);
  check_sum();
}

std::uint16_t Rig::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  std::size_t& room = room_[out];
  const auto accepted = static_cast<std::uint16_t>(std::min<std::size_t>(room, count));
  if (room != kUnlimited) room -= accepted;
  for (std::uint16_t i = 0; i < accepted; ++i) {
    const auto* data = rte_pktmbuf_mtod(frames[i], const std::uint8_t*);
    Bytes bytes(data, data + frames[i]->pkt_len);
    auto& seen = out == Side::host ? host_out : wan_out;
    seen.emplace_back(bytes);
    if (on_accepted) on_accepted(out, seen.back());
    in_flight_.push_back({frames[i], std::move(bytes)});
  }
  complete(100);
  return accepted;
}

void Rig::complete(std::size_t left) {
  while (in_flight_.size() > left) {
    const InFlight& frame = in_flight_.front();
    const auto* data = rte_pktmbuf_mtod(frame.mbuf, const std::uint8_t*);
    if (!std::equal(frame.bytes.begin(), frame.bytes.end(), data))
      FAIL_CHECK("a frame changed after a port had accepted it");
    rte_pktmbuf_free(frame.mbuf);
    in_flight_.pop_front();
  }
}

void Rig::check_sum() {
  const std::uint64_t in = count(Counter::frames_host) + count(Counter::frames_wan);
  std::uint64_t accounted = count(Counter::forwarded_host) + count(Counter::forwarded_wan) + engine->waiting_frames();
  for (const Counter counter : metrics::kNotForwarded) accounted += count(counter);
  if (in != accounted) FAIL("frames in: " << in << ", accounted for: " << accounted);
  const std::string_view broken = engine->inconsistency();
  if (!broken.empty()) FAIL("the engine's state: " << broken);
}

void Rig::wait(Duration duration) {
  const Time until = now + duration;
  unsigned polls = 0;
  while (engine->next_deadline() <= until) {
    if (++polls > 200000) FAIL("the engine asks to be polled for ever");
    now = std::max(now, engine->next_deadline());
    engine->poll(now);
    check_sum();
  }
  now = until;
}

void Rig::connect(const Pair& pair) {
  receive(pair.active, {pair.req()});
  receive(other(pair.active), {pair.rep()});
  receive(pair.active, {pair.rtu()});
  host_out.clear();
  wan_out.clear();
}

void Rig::connect_confirmed(const Pair& pair) {
  connect(pair);
  host_sends(pair.write(pair.a_psn));
  wait(milliseconds(10));
  wan_sends(pair.ack(pair.a_psn, 1));
  host_out.clear();
  wan_out.clear();
}

Lines Rig::lines(std::vector<Seen>& seen) {
  Lines all;
  for (const Seen& frame : seen) all.push_back(frame.line());
  seen.clear();
  return all;
}

}  // namespace longhaul::test
