// SPDX-License-Identifier: BSD-3-Clause
// Custody through the near part's public interface, and the pseudo-ACK alone.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/side.hpp"
#include "custody/ack_template.hpp"
#include "custody/near_part.hpp"
#include "engine/settings.hpp"
#include "test/bench/micro/micro.hpp"
#include "test/bench/roce_stream.hpp"
#include "wire/builder.hpp"
#include "wire/icrc.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kFlows = 64;
constexpr std::uint32_t kPackets = 1024;  // timed as one
constexpr std::uint32_t kInCustody = 8192;
constexpr std::uint32_t kQpnBase = 0x100;

/// A near part whose port accepts everything, and the frames that go through it.
class Custody final : custody::Outlet, Treatment {
 public:
  explicit Custody(const Workload& workload)
      : stream_({&workload, kFlows, kInCustody}, Side::host, kQpnBase, pools().frames, *this, payloads_, errors_),
        near_(settings(), budget(), 1, small_pools(), counters_, *this, nullptr),
        flows_(kFlows) {
    stream_.set_confirmed();
    stream_.set_lag(kInCustody);
    for (std::uint32_t i = 0; i < kFlows; ++i) {
      const CmExchange exchange = stream_.exchange(i);
      custody::NearFlow& flow = flows_[i];
      flow.identity.requester_qpn = exchange.requester_qpn;
      flow.policy = flow::Policy::full;
      flow.path_mtu = exchange.path_mtu;
      flow.holding = &near_.holding(0);
      near_.begin(flow, exchange.requester_starts_at, 0, true, 0);
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
  std::vector<Packet> requests() { return packets(Part::requests, Side::host); }
  std::vector<Packet> answers() { return packets(Part::answers, Side::wan); }
  std::uint64_t held() const { return near_.budget().held.packets; }

  /// Custody takes a burst, and the port accepts it.
  void append(std::span<const Packet> burst) {
    now_ += microseconds(4);
    for (const Packet& packet : burst) {
      const custody::Verdict verdict = near_.request(*packet.flow, packet.frame, packet.mbuf, now_);
      if (verdict == custody::Verdict::taken || verdict == custody::Verdict::sent) ++taken_;
      if (verdict != custody::Verdict::sent) rte_pktmbuf_free(packet.mbuf);
    }
    for (const auto& [flow, held] : staged_) near_.on_sent(*flow, held, now_);
    staged_.clear();
  }
  /// Makes the pseudo-ACKs for what was taken.
  void acknowledge() {
    for (custody::NearFlow& flow : flows_) near_.acknowledge(flow, now_);
  }
  void release(std::span<const Packet> burst) {
    for (const Packet& packet : burst) {
      near_.answer(*packet.flow, packet.frame, packet.mbuf, now_);
      rte_pktmbuf_free(packet.mbuf);
      ++answered_;
    }
  }

  /// Checks that the right frames came out on both sides, that nothing was refused or forgotten, and that all answered
  /// packets are released. Throws otherwise.
  void check() {
    for (const Side out : {Side::host, Side::wan})
      for (const rte_mbuf* mbuf : sent_[out]) {
        wire::Frame frame;
        const auto status = wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, frame);
        if (!stream_.take(out, status, frame, mbuf)) errors_.add("a frame came out for nobody");
      }
    free_sent();
    stream_.after_chunk();
    if (held() != taken_ - answered_) errors_.add("custody did not release what was answered");
    if (!errors_.empty()) throw std::runtime_error("custody: " + errors_.list().front());
  }

 private:
  static custody::NearSettings settings() {
    const engine::Settings box;
    custody::NearSettings near;
    near.confirm_by_cm = true;
    near.initial_window_bytes = box.initial_window_bytes;
    near.rto_initial = box.rto_initial;
    near.rto_min = box.rto_min;
    near.rto_max = box.rto_max;
    near.give_up = box.give_up;
    return near;
  }
  static custody::Budget budget() {
    const engine::Settings box;
    custody::Budget budget;
    budget.box_bytes_limit = box.custody_box_bytes;
    budget.flow_bytes_limit = box.custody_flow_bytes;
    budget.large_mbufs_limit = box.custody_mbufs;
    return budget;
  }
  static custody::SmallPools small_pools() {
    return {pools().small, engine::Pools::kSmallBytes, 0, pools().made, pools().frames};
  }

  std::vector<Packet> packets(Part part, Side in) {
    Offer offer;
    stream_.offer(part, kPackets, offer);
    std::vector<Packet> packets;
    for (rte_mbuf* mbuf : offer.frames[in]) {
      Packet& packet = packets.emplace_back(Packet{mbuf, {}, nullptr});
      if (wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, packet.frame) !=
          wire::ParseStatus::roce)
        throw std::logic_error("a frame does not parse");
      packet.flow = &flows_[stream_.flow_of(other(in), packet.frame).value()];
    }
    return packets;
  }
  void free_sent() {
    for (auto& frames : sent_) {
      for (rte_mbuf* frame : frames) rte_pktmbuf_free(frame);
      frames.clear();
    }
  }

  // Treatment
  bool accelerates() const override { return true; }
  // custody::Outlet
  bool may_send(const custody::NearFlow&) override { return true; }
  void send_held(custody::NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) override {
    staged_.emplace_back(&flow, held);
    sent_[Side::wan].push_back(frame);
  }
  void settle() override {}
  void send_to_requester(custody::NearFlow&, rte_mbuf* frame, Time) override { sent_[Side::host].push_back(frame); }
  // The workload is in order: nothing waits beyond a gap.
  void pass(const custody::NearFlow&, const wire::Frame&, rte_mbuf* mbuf, bool) override { rte_pktmbuf_free(mbuf); }
  void pass_answer(rte_mbuf* mbuf) override { rte_pktmbuf_free(mbuf); }
  void newest_addresses(const custody::NearFlow&, wire::EthernetAddresses&) override {}
  void wait_to_send(custody::NearFlow&) override {}

  const Payloads payloads_;
  Errors errors_;
  RoceStream stream_;
  Counters counters_;
  custody::NearPart near_;
  std::vector<custody::NearFlow> flows_;
  std::vector<std::pair<custody::NearFlow*, rte_mbuf*>> staged_;
  BySide<std::vector<rte_mbuf*>> sent_;  // by the side where they leave
  Time now_ = seconds(1000);
  std::uint64_t taken_ = 0;
  std::uint64_t answered_ = 0;
};

enum class Timed : std::uint8_t { append, release };

void in_bursts(std::span<const Custody::Packet> packets, const auto& what) {
  for (; !packets.empty(); packets = packets.subspan(std::min(kBurst, packets.size())))
    what(packets.first(std::min(kBurst, packets.size())));
}

void custody(benchmark::State& state, Timed timed) {
  Custody custody(workload("write" + std::to_string(state.range(0))));
  Stopwatch watch(state);
  const auto append = [&](bool counts) {
    const auto packets = custody.requests();
    if (counts) watch.begin();
    in_bursts(packets, [&](auto burst) { custody.append(burst); });
    if (counts) watch.end();
    custody.acknowledge();
    custody.check();
  };
  const auto release = [&](bool counts) {
    const auto packets = custody.answers();
    if (counts) watch.begin();
    in_bursts(packets, [&](auto burst) { custody.release(burst); });
    if (counts) watch.end();
    custody.check();
  };
  while (custody.held() < kInCustody) append(false);
  for (auto _ : state) {
    append(timed == Timed::append);
    release(timed == Timed::release);
  }
  per_packet(state, static_cast<std::uint64_t>(state.iterations()) * kPackets);
}
// For small buffers of both sizes, and for the received mbuf itself.
BENCHMARK_CAPTURE(custody, append, Timed::append)
    ->ArgName("payload")
    ->Arg(64)
    ->Arg(512)
    ->Arg(1024)
    ->Arg(4096)
    ->UseManualTime();
BENCHMARK_CAPTURE(custody, release, Timed::release)
    ->ArgName("payload")
    ->Arg(64)
    ->Arg(512)
    ->Arg(1024)
    ->Arg(4096)
    ->UseManualTime();

void pseudo_ack(benchmark::State& state, bool ipv6) {
  std::vector<custody::AckTemplate> templates(kFlows);
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    const std::string host = std::to_string(i + 16);
    const auto bytes = wire::PacketBuilder()
                           .ips(ipv6 ? "fd00::2" : "10.2.0.2", ipv6 ? "fd00::" + host : "10.1.0." + host)
                           .qpn(kQpnBase + i)
                           .opcode(wire::kRcAcknowledge)
                           .aeth(wire::kAckNoCredits, 0)
                           .build();
    wire::Frame frame;
    if (wire::parse(bytes, frame) != wire::ParseStatus::roce) throw std::logic_error("an ACK does not parse");
    templates[i].learn_from_answer(frame);
  }
  std::array<rte_mbuf*, kPackets> made;
  custody::BufferStash buffers(pools().made, custody::AckTemplate::kRoom);
  std::uint32_t psn = 0;
  Stopwatch watch(state);
  for (auto _ : state) {
    watch.begin();
    for (std::uint32_t i = 0; i < kPackets; ++i, ++psn)
      made[i] = templates[i % kFlows].make(buffers, psn & 0xffffff, psn & 0xffffff, wire::kAckNoCredits);
    watch.end();
    for (std::uint32_t i = 0; i < kPackets; i += 101) {
      wire::Frame frame;
      if (wire::parse({rte_pktmbuf_mtod(made[i], const std::uint8_t*), made[i]->data_len}, frame) !=
              wire::ParseStatus::roce ||
          !wire::verify_icrc(frame) || frame.destination_qpn() != kQpnBase + i % kFlows)
        throw std::runtime_error("no ACK");
    }
    rte_pktmbuf_free_bulk(made.data(), kPackets);
  }
  per_packet(state, static_cast<std::uint64_t>(state.iterations()) * kPackets);
}
BENCHMARK_CAPTURE(pseudo_ack, ipv4, false)->UseManualTime();
BENCHMARK_CAPTURE(pseudo_ack, ipv6, true)->UseManualTime();

}  // namespace

}  // namespace longhaul::bench
