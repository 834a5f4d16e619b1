// SPDX-License-Identifier: BSD-3-Clause
// What several workers cost besides their engines: the home's look at each frame, the way over the ring, and the fetch
// of the frame from another core's cache.
#include <rte_mbuf.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "steer/spreader.hpp"
#include "test/bench/cm_exchange.hpp"
#include "test/bench/frame_template.hpp"
#include "test/bench/micro/micro.hpp"
#include "wire/builder.hpp"
#include "wire/psn.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kConnections = 64;
constexpr std::uint32_t kPayload = 512;
// As many as a ring takes, and more than the second-level cache holds, as with frames from a NIC.
constexpr std::uint32_t kPackets = 31 * steer::Spreader::kBurst;
static_assert(kPackets <= steer::HandOverRings::kFrames);

/// Two workers, and connections between two hosts. One worker is their home.
class Spread {
 public:
  /// `handed`: the other worker owns the connections.
  explicit Spread(bool handed) : shown_(steer::make_shown_pool(-1)), rings_(2) {
    for (std::uint32_t n = 0; n < kConnections; ++n) {
      flows_.push_back({n, "10.1.0.1", "10.2.0.1", 0x100 + n, 0x10000 + n, 1000 * n});
      templates_.emplace_back(wire::PacketBuilder()
                                  .ips(flows_[n].requester_ip, flows_[n].responder_ip)
                                  .opcode(wire::kRcWriteOnly)
                                  .ack_req()
                                  .reth(0x10000, 7, kPayload)
                                  .payload_size(kPayload)
                                  .build());
    }
    home_ = steer::home_of(templates_.front().frame(), 2);
    const auto away = static_cast<steer::Worker>(1 - home_);
    for (const steer::Worker self : {home_, away})
      workers_[self] = std::make_unique<steer::Spreader>(
          steer::SteeringSettings{self, {handed ? away : home_}, 4096, 4096}, rings_, shown_);
    for (std::uint32_t n = 0; n < kConnections; ++n) {
      for (const auto& [side, bytes] :
           {std::pair{Side::host, cm_request(flows_[n])}, std::pair{Side::wan, cm_reply(flows_[n])}}) {
        frames_ = {to_mbuf(bytes)};
        at_home(side);
        free_kept();
        at_owner();
      }
    }
    if (workers_[home_]->steering().connections() != kConnections)
      throw std::runtime_error("micro: a connection has no owner");
  }
  ~Spread() {
    free_kept();
    at_owner();
    workers_[0].reset();
    workers_[1].reset();
    rings_ = steer::HandOverRings(0);
    rte_mempool_free(shown_);
  }
  Spread(const Spread&) = delete;
  Spread& operator=(const Spread&) = delete;

  void prepare() {
    free_kept();
    frames_.clear();
    ++round_;
    for (std::uint32_t i = 0; i < kPackets; ++i)
      frames_.push_back(make(i * 7 % kConnections, (round_ * 1000 + i) & wire::kPsnMask));
  }
  /// Passes all frames through the home, burst by burst.
  void at_home(Side side = Side::host) {
    for (std::size_t i = 0; i < frames_.size(); i += steer::Spreader::kBurst) {
      const auto count = static_cast<std::uint16_t>(std::min<std::size_t>(frames_.size() - i, steer::Spreader::kBurst));
      kept_ += workers_[home_]->keep(side, frames_.data() + i, count, seconds(1000));
    }
  }
  /// Takes and frees the frames that were handed over. Returns how many there were.
  std::uint32_t at_owner(Stopwatch* watch = nullptr) {
    std::uint32_t all = 0;
    for (;;) {
      steer::Received received;
      if (watch != nullptr) watch->begin();
      const std::uint16_t count = workers_[1 - home_]->take(home_, received, seconds(1000));
      // Reads what an engine reads first in each frame.
      for (const auto& burst : received.bursts)
        for (std::uint16_t i = 0; i < burst.count; ++i) read(burst.frames[i]);
      if (watch != nullptr) watch->lap();
      if (count == 0) return all;
      all += count;
      for (std::uint16_t i = 0; i < received.shown_count; ++i) rte_pktmbuf_free(received.shown[i].frame);
      for (const auto& burst : received.bursts)
        rte_pktmbuf_free_bulk(const_cast<rte_mbuf**>(burst.frames.data()), burst.count);
    }
  }
  std::uint32_t kept() const { return kept_; }

 private:
  static rte_mbuf* to_mbuf(std::span<const std::uint8_t> bytes) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pools().frames);
    if (mbuf == nullptr) throw std::runtime_error("micro: no mbuf");
    std::ranges::copy(bytes, rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size())));
    return mbuf;
  }
  rte_mbuf* make(std::uint32_t flow, std::uint32_t psn) const {
    rte_mbuf* mbuf = templates_[flow].make(pools().frames, {.qpn = flows_[flow].responder_qpn, .psn = psn});
    if (mbuf == nullptr) throw std::runtime_error("micro: no mbuf");
    return mbuf;
  }
  static void read(const rte_mbuf* mbuf) {
    wire::Frame frame;
    const auto status = wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, frame);
    benchmark::DoNotOptimize(status);
  }
  void free_kept() {
    // Kept frames are at the front of each burst: a test keeps all or none.
    if (kept_ > 0) rte_pktmbuf_free_bulk(frames_.data(), kept_);
    kept_ = 0;
    frames_.clear();
  }

  rte_mempool* shown_;
  steer::HandOverRings rings_;
  std::unique_ptr<steer::Spreader> workers_[2];
  steer::Worker home_ = 0;
  std::vector<CmExchange> flows_;
  std::vector<FrameTemplate> templates_;
  std::vector<rte_mbuf*> frames_;
  std::uint32_t kept_ = 0;
  std::uint32_t round_ = 0;
};

void home(benchmark::State& state) {
  const bool handed = state.range(0) != 0;
  Spread spread(handed);
  Stopwatch watch(state);
  for (auto _ : state) {
    spread.prepare();
    watch.begin();
    spread.at_home();
    watch.end();
    if (spread.kept() != (handed ? 0 : kPackets)) state.SkipWithError("frames went the wrong way");
    if (spread.at_owner() != (handed ? kPackets : 0)) state.SkipWithError("frames are missing");
  }
  per_packet(state, static_cast<std::uint64_t>(state.iterations()) * kPackets);
}
BENCHMARK(home)->Name("spread/home")->ArgName("handed_over")->Arg(0)->Arg(1)->UseManualTime();

/// Runs `work` on one of the processors in `others`, if there are any.
template <typename Work>
void elsewhere(const cpu_set_t& others, Work work) {
  std::thread([&] {
    sched_setaffinity(0, sizeof(others), &others);
    work();
  }).join();
}

void owner(benchmark::State& state) {
  const bool other_core = state.range(0) != 0;
  cpu_set_t all, here, others;
  sched_getaffinity(0, sizeof(all), &all);
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  CPU_XOR(&others, &all, &here);
  sched_setaffinity(0, sizeof(here), &here);
  Spread spread(true);
  Stopwatch watch(state);
  for (auto _ : state) {
    spread.prepare();
    if (other_core)
      elsewhere(others, [&] { spread.at_home(); });
    else
      spread.at_home();
    if (spread.at_owner(&watch) != kPackets) state.SkipWithError("frames are missing");
    watch.record();
  }
  sched_setaffinity(0, sizeof(all), &all);
  per_packet(state, static_cast<std::uint64_t>(state.iterations()) * kPackets);
}
BENCHMARK(owner)->Name("spread/owner")->ArgName("from_other_core")->Arg(0)->Arg(1)->UseManualTime();

}  // namespace

}  // namespace longhaul::bench
