// SPDX-License-Identifier: BSD-3-Clause
// Sends a fixed number of packets of each workload through an engine. test/bench/instructions/run counts their
// instructions under callgrind. Alone, the program only checks what comes out.
#include <fmt/core.h>
#include <valgrind/callgrind.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/eal.hpp"
#include "engine/peer_link.hpp"
#include "relay/messages.hpp"
#include "test/bench/inline_box.hpp"
#include "test/bench/trial.hpp"

namespace {

using namespace longhaul;
using namespace longhaul::bench;

constexpr const char* kWorkloads[] = {"write64",   "write512", "write1024", "write4096",  "acks",
                                      "responses", "far512",   "foreign64", "unknown512", "unknownacks"};
// The same with a peer, and every flow bound. What the peer's datagrams cost, and their tags, does not count.
constexpr const char* kPaired[] = {"write512", "acks", "responses", "far512"};
constexpr std::uint32_t kPairedFlows = 64;
constexpr std::uint32_t kFlows[] = {64, 1024, 4096};
// Enough candidates to show whether an ACK that fits no connection costs more when there are more of them. Anyone can
// make candidates, up to max_candidates.
constexpr std::uint32_t kMostCandidates = 1024;
constexpr std::uint32_t kInCustody = 8192;
constexpr std::uint64_t kMemory = 1ull << 30;

/// A box at the other end that agrees to everything.
class Peer final : public engine::PeerLink {
 public:
  void join(engine::Engine& engine) {
    engine.join(*this);
    engine.peer_up(kNumber, milliseconds(1));
  }
  /// Binds what the box has asked for, and all connections whose requests come from the WAN.
  void bind(InlineBox& box, const RoceStream& stream) {
    engine::Engine& engine = box.worker().engine();
    if (stream.requester_side() == Side::host) {
      relay::StateWriter writer({0, 0});
      const auto send = [&](relay::Bytes body) {
        engine.peer_said(speaker_of(kNumber, 0), relay::To::one, relay::Type::state, body, box.now());
      };
      for (const relay::Name& name : asked_) writer.begin(name, relay::kBound, 0, send);
      writer.finish(send);
      if (engine.counters()[Counter::flows_bound] != stream.flows())
        throw std::runtime_error("not all flows are bound");
      return;
    }
    for (std::uint32_t flow = 0; flow < stream.flows(); ++flow) {
      const CmExchange exchange = stream.exchange(flow);
      flow::KeyIndex::Key key;
      key.first = wire::IpAddress::parse(exchange.requester_ip);
      key.second = wire::IpAddress::parse(exchange.responder_ip);
      key.qpn = exchange.responder_qpn;
      relay::Body body;
      body.add(relay::BindEntry::of({flow, flow + 1}, key, exchange.requester_qpn, stream.next_psn(flow),
                                    exchange.path_mtu));
      engine.peer_said(speaker_of(kNumber, 0), relay::To::one, relay::Type::bind, body.bytes(), box.now());
    }
  }

 private:
  static constexpr PeerNumber kNumber = 1;
  void send(Speaker, relay::Type type, relay::Bytes body) override {
    if (type == relay::Type::bind)
      for (const relay::BindEntry& entry : relay::entries_in<relay::BindEntry>(body)) asked_.push_back(entry.name);
  }

  std::vector<relay::Name> asked_;
};

/// Returns how many packets were counted.
std::uint64_t count(const Point& point, std::uint64_t packets, bool paired, RingPorts& ports,
                    const drivers::Clock& clock) {
  Peer peer;
  InlineBox* box = nullptr;
  const Entrant engine{point,
                       [&](const Bench& b) {
                         auto made = std::make_unique<InlineBox>(b.ports.pair(), b.settings, b.pools);
                         box = made.get();
                         if (paired) peer.join(box->worker().engine());
                         return made;
                       },
                       true};
  Trial trial({&engine, 1}, {}, ports, clock);
  std::uint64_t passed = 0;
  trial.turn(0, [&](Session& session) {
    session.warm_up();
    if (paired) {
      peer.bind(*box, session.connections());
      session.warm_up();
    }
    // What comes before runs many times faster without instrumentation.
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    for (Round round; passed < packets && session.errors().empty(); passed += round.chunks.back().packets)
      session.measure_chunk(&round);
    CALLGRIND_DUMP_STATS;
    CALLGRIND_STOP_INSTRUMENTATION;
  });
  const auto errors = trial.finish();
  for (const std::string& error : errors.front()) throw std::runtime_error(error);
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Sends packets of each workload through an engine, for callgrind to count. Use test/bench/instructions/run."};
  std::uint64_t packets = 4096;
  std::string only;
  app.add_option("--packets", packets, "of each workload, at least")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--only", only, "the workload of this name");
  CLI11_PARSE(app, argc, argv);
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__)
  fmt::print(stderr, "counted: compiled without optimization or with sanitizers, its count would mean nothing\n");
  return 2;
#endif
  try {
    drivers::EalOptions options;
    options.program = "counted";
    options.hugepages = false;
    options.memory_bytes = kMemory;
    const drivers::Eal eal(options);
    const drivers::Clock clock;
    RingPorts ports(1024, 4096);
    for (const std::uint32_t flows : kFlows)
      for (const char* name : kWorkloads) {
        const std::string full = fmt::format("{}/{}", name, flows);
        if (!only.empty() && full != only) continue;
        if (flows == kMostCandidates && std::string_view(name) != "unknownacks") continue;
        const Workload& row = workload(name);
        const bool holds = row.has(Side::host) && row.announced;
        fmt::print("{} {}\n", full, count({&row, flows, holds ? kInCustody : 0}, packets, false, ports, clock));
      }
    for (const char* name : kPaired) {
      const std::string full = fmt::format("paired-{}/{}", name, kPairedFlows);
      if (!only.empty() && full != only) continue;
      const Workload& row = workload(name);
      const std::uint32_t held = row.has(Side::host) && row.announced ? kInCustody : 0;
      fmt::print("{} {}\n", full, count({&row, kPairedFlows, held}, packets, true, ports, clock));
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "counted: {}\n", e.what());
    return 1;
  }
  return 0;
}
