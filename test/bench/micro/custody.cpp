// SPDX-License-Identifier: BSD-3-Clause
// Custody through the near part's public face, and the pseudo-ACK alone.
#include <rte_mbuf.h>

#include <array>

#include "custody/ack_template.hpp"
#include "custody/near_part.hpp"
#include "test/bench/engine_load/parts.hpp"
#include "test/bench/micro/micro.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kFlows = 64;
constexpr std::uint32_t kPackets = 1024;  // timed together

/// A near part whose port takes everything.
class Custody final : custody::Outlet {
 public:
  explicit Custody(std::uint32_t payload)
      : schedule_(make_flows(kFlows)),
        near_(settings(), budget(), small_pools(), counters_, *this, nullptr),
        flows_(kFlows) {
    for (std::uint32_t i = 0; i < kFlows; ++i) {
      const FlowEnds& ends = schedule_.flows()[i];
      requests_.push_back(write_of(ends, payload));
      answers_.push_back(ack_of(ends));
      custody::NearFlow& flow = flows_[i];
      flow.identity.requester_qpn = ends.requester_qpn;
      flow.policy = flow::Policy::full;
      flow.path_mtu = 4096;
      near_.begin(flow, ends.start_psn, 0);
    }
  }
  ~Custody() override {
    for (custody::NearFlow& flow : flows_) near_.discard(flow);
    free_sent();
  }
  Custody(const Custody&) = delete;
  Custody& operator=(const Custody&) = delete;

  struct Packet {
    rte_mbuf* mbuf;
    wire::Frame frame;
    custody::NearFlow* flow;
  };
  Packet next_request() { return packet(requests_, sent_++); }
  Packet next_answer() { return packet(answers_, answered_++); }

  /// A burst is taken, and the port accepts it.
  void append(std::span<const Packet> burst) {
    now_ += microseconds(4);
    for (const Packet& packet : burst) {
      if (near_.request(*packet.flow, packet.frame, packet.mbuf, now_) == custody::Verdict::taken) ++taken_;
      rte_pktmbuf_free(packet.mbuf);
    }
    for (const auto& [flow, held] : staged_) near_.on_sent(*flow, held, now_);
    staged_.clear();
  }
  void release(std::span<const Packet> burst) {
    for (const Packet& packet : burst) {
      near_.answer(*packet.flow, packet.frame, now_);
      rte_pktmbuf_free(packet.mbuf);
    }
  }

  /// Nothing was refused or forgotten, and all that was answered is gone. Throws otherwise.
  void check() {
    require(taken_ == sent_, "custody refused a packet");
    require(near_.budget().packets == sent_ - answered_, "custody did not release what was answered");
    free_sent();
  }

 private:
  static custody::NearSettings settings() {
    const engine::Settings box;
    return {true, box.initial_window_bytes, box.rto_initial, box.rto_min, box.rto_max, box.give_up};
  }
  static custody::Budget budget() {
    const engine::Settings box;
    custody::Budget budget;
    budget.box_bytes_limit = box.custody_box_bytes;
    budget.flow_bytes_limit = box.custody_flow_bytes;
    budget.large_mbufs_limit = box.custody_mbufs;
    return budget;
  }
  static custody::SmallPools small_pools() { return {pools().small, engine::Pools::kSmallBytes, pools().frames}; }

  Packet packet(const std::vector<FrameTemplate>& frames, std::uint64_t i) {
    const auto place = schedule_.place(i);
    Packet packet{stamped(frames[place.flow], pools(), place.psn, place.msn), {}, &flows_[place.flow]};
    require(wire::parse({rte_pktmbuf_mtod(packet.mbuf, const std::uint8_t*), packet.mbuf->data_len}, packet.frame) ==
                wire::ParseStatus::roce,
            "a frame does not parse");
    return packet;
  }
  void free_sent() {
    for (rte_mbuf* frame : on_the_wire_) rte_pktmbuf_free(frame);
    on_the_wire_.clear();
  }

  // custody::Outlet
  bool may_send() override { return true; }
  void send_held(custody::NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) override {
    staged_.emplace_back(&flow, held);
    on_the_wire_.push_back(frame);
  }
  void settle() override {}
  void send_to_requester(custody::NearFlow&, rte_mbuf* frame, Time) override { on_the_wire_.push_back(frame); }
  void wait_to_send(custody::NearFlow&) override {}

  const Schedule schedule_;
  Counters counters_;
  custody::NearPart near_;
  std::vector<custody::NearFlow> flows_;
  std::vector<FrameTemplate> requests_;  // by flow
  std::vector<FrameTemplate> answers_;
  std::vector<std::pair<custody::NearFlow*, rte_mbuf*>> staged_;
  std::vector<rte_mbuf*> on_the_wire_;
  Time now_ = seconds(1000);
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t answered_ = 0;
};

enum class Part : std::uint8_t { append, release };

void custody(benchmark::State& state, Part part) {
  Custody custody(static_cast<std::uint32_t>(state.range(0)));
  std::array<std::array<Custody::Packet, kBurst>, kPackets / kBurst> requests;
  auto answers = requests;
  Stopwatch watch(state);
  const auto append = [&] {
    for (auto& burst : requests)
      for (auto& packet : burst) packet = custody.next_request();
    if (part == Part::append) watch.begin();
    for (const auto& burst : requests) custody.append(burst);
    if (part == Part::append) watch.end();
  };
  const auto release = [&] {
    for (auto& burst : answers)
      for (auto& packet : burst) packet = custody.next_answer();
    if (part == Part::release) watch.begin();
    for (const auto& burst : answers) custody.release(burst);
    if (part == Part::release) watch.end();
  };
  for (std::uint32_t i = 0; i < EngineLoad::kDepth / kPackets; ++i) append();
  for (auto _ : state) {
    append();
    release();
    custody.check();
  }
  per_packet(state, kPackets);
}
// Small buffers of both sizes, and the received mbuf itself.
BENCHMARK_CAPTURE(custody, append, Part::append)
    ->ArgName("payload")
    ->Arg(64)
    ->Arg(512)
    ->Arg(1024)
    ->Arg(4096)
    ->UseManualTime();
BENCHMARK_CAPTURE(custody, release, Part::release)
    ->ArgName("payload")
    ->Arg(64)
    ->Arg(512)
    ->Arg(1024)
    ->Arg(4096)
    ->UseManualTime();

void pseudo_ack(benchmark::State& state, bool ipv6) {
  std::vector<custody::AckTemplate> templates(kFlows);
  const auto flows = make_flows(kFlows);
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    auto builder = flows[i].answer().opcode(wire::kRcAcknowledge).aeth(wire::kAckNoCredits, 0);
    if (ipv6) builder.ips("fd00::2", "fd00::" + std::to_string(i + 16));
    const auto bytes = builder.build();
    wire::Frame frame;
    require(wire::parse(bytes, frame) == wire::ParseStatus::roce, "an ACK does not parse");
    templates[i].learn_from_answer(frame);
  }
  std::array<rte_mbuf*, kPackets> made;
  custody::BufferStash buffers(pools().small.front());
  std::uint32_t psn = 0;
  Stopwatch watch(state);
  for (auto _ : state) {
    watch.begin();
    for (std::uint32_t i = 0; i < kPackets; ++i, ++psn)
      made[i] = templates[i % kFlows].make(buffers, psn & 0xffffff, psn & 0xffffff, wire::kAckNoCredits);
    watch.end();
    const Out out({made.begin(), made.end()});
    for (std::uint32_t i = 0; i < kPackets; i += 101)
      require(out.roce(i).opcode->code == wire::kRcAcknowledge, "no ACK");
  }
  per_packet(state, kPackets);
}
BENCHMARK_CAPTURE(pseudo_ack, ipv4, false)->UseManualTime();
BENCHMARK_CAPTURE(pseudo_ack, ipv6, true)->UseManualTime();

}  // namespace

}  // namespace longhaul::bench
