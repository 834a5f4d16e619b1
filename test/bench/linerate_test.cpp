// SPDX-License-Identifier: BSD-3-Clause
// linerate measures working devices: a few thousand packets of each workload pass all its checks. And its checks find
// faulty devices. No timing is judged.
#include <catch2/catch.hpp>

#include <rte_mbuf.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>

#include "drivers/eal.hpp"
#include "test/bench/delay_meter.hpp"
#include "test/bench/devices.hpp"
#include "test/bench/trial.hpp"
#include "test/unit/support/catch_session.hpp"
#include "wire/icrc.hpp"

using namespace longhaul;
using namespace longhaul::bench;

namespace {

constexpr unsigned kDevices = 5;
constexpr std::uint32_t kInCustody = 300;
// Even if there are enough processors: others may use them.
constexpr bool kShare = true;

TrialOptions few_packets() {
  TrialOptions options;
  options.rounds = 2;
  options.packets = 1500;
  options.chunks.frames = 96;
  return options;
}

std::vector<DeviceResult> run(const Point& point, const std::vector<DeviceMaker>& makers,
                              const TrialOptions& options = few_packets()) {
  RingPorts ports(128, 512);
  const drivers::Clock clock;
  std::vector<Entrant> entrants;
  for (const DeviceMaker& maker : makers) entrants.push_back({point, maker});
  return run_trial(entrants, options, ports, clock);
}

std::string first_error(const std::vector<DeviceResult>& results) {
  for (const DeviceResult& result : results)
    if (!result.errors.empty()) return result.name + ": " + result.errors.front();
  return "none";
}

using Fault = std::function<std::uint16_t(Side out, rte_mbuf** frames, std::uint16_t count)>;

/// Forwards frames with the given fault.
class Faulty final : public ForwardingDevice {
 public:
  Faulty(const Bench& bench, Fault fault)
      : ForwardingDevice(bench.ports.pair(), bench.lcore, kShare), fault_(std::move(fault)) {
    launch();
  }
  ~Faulty() override { stop(); }
  std::string name() const override { return "faulty"; }

 private:
  std::uint16_t treat(Side out, rte_mbuf** frames, std::uint16_t count) override { return fault_(out, frames, count); }
  Fault fault_;
};

std::string error_of(const char* name, const Fault& fault) {
  return first_error(run({&workload(name), 16, kInCustody},
                         {[&](const Bench& bench) { return std::make_unique<Faulty>(bench, fault); }}));
}

/// True for the 700th frame to `side`.
std::function<bool(Side)> late(Side side) {
  return [side, seen = 0](Side out) mutable { return out == side && ++seen == 700; };
}

}  // namespace

TEST_CASE("every workload passes through every device, and all that comes out is right") {
  const std::vector<DeviceMaker> makers = {
      [](const Bench& b) {
        return std::make_unique<BoxDevice>(b.ports.pair(), b.lcore, kShare, b.settings, b.pools, b.clock);
      },
      [](const Bench& b) {
        return std::make_unique<FloorDevice>(b.ports.pair(), b.lcore, kShare, FloorDevice::Icrc::frozen);
      },
      [](const Bench& b) {
        return std::make_unique<BacklogDevice>(b.ports.pair(), b.lcore, kShare, b.point.custody_packets);
      },
      [](const Bench& b) {
        return std::make_unique<MacDevice>(b.ports.pair(), b.lcore, kShare, MacDevice::Mode::swap);
      },
      [](const Bench& b) {
        return std::make_unique<MacDevice>(b.ports.pair(), b.lcore, kShare, MacDevice::Mode::set);
      }};
  REQUIRE(makers.size() == kDevices);
  for (const Workload& row : workloads())
    for (const std::uint32_t flows : {std::max(row.announced ? 1u : 2u, fewest_flows(row, kInCustody)), 150u}) {
      CAPTURE(row.name, flows);
      TrialOptions options = few_packets();
      options.chunks.cold = flows < 150;
      const auto results = run({&row, flows, row.scripts.empty() ? 0 : kInCustody}, makers, options);
      for (const DeviceResult& result : results) {
        CAPTURE(result.name);
        CHECK(result.errors == std::vector<std::string>{});
        REQUIRE(result.rounds.size() == 2);
        for (const Round& round : result.rounds) {
          std::uint64_t packets = 0;
          for (const Round::Chunk& chunk : round.chunks) {
            packets += chunk.packets;
            CHECK(chunk.busy.value() > 0);
          }
          CHECK(packets >= few_packets().packets);
        }
      }
    }
}

TEST_CASE("entrants take turns, each with traffic and custody of its own") {
  RingPorts ports(128, 512);
  const drivers::Clock clock;
  const auto box = [](const Bench& b) {
    return std::make_unique<BoxDevice>(b.ports.pair(), b.lcore, kShare, b.settings, b.pools, b.clock);
  };
  const std::vector<Entrant> entrants = {{{&workload("write512"), 16, 0}, box},
                                         {{&workload("write512"), 150, 2000}, box},
                                         {{&workload("foreign64"), 4, 0}, box}};
  const auto results = run_trial(entrants, few_packets(), ports, clock);
  REQUIRE(results.size() == 3);
  for (const DeviceResult& result : results) {
    CHECK(result.errors == std::vector<std::string>{});
    CHECK(result.rounds.size() == 2);
  }
  // Both directions at once, and every frame counts as a packet.
  CHECK(results[2].rounds[0].chunks[0].packets == 2 * few_packets().chunks.frames);
  CHECK(results[0].rounds[0].chunks[0].packets == few_packets().chunks.frames);
}

TEST_CASE("every request that arrives at its time finds what was sent for it") {
  RingPorts ports(128, 512);
  const drivers::Clock clock;
  std::unique_ptr<PacedPorts> paced;
  const auto pace = [&paced](const Bench& b) {
    paced = std::make_unique<PacedPorts>(b.ports.pair(), b.ports.out_frames());
    return paced->pair();
  };
  const DeviceMaker makers[] = {
      [&](const Bench& b) {
        return std::make_unique<BoxDevice>(pace(b), b.lcore, kShare, b.settings, b.pools, b.clock);
      },
      [&](const Bench& b) {
        return std::make_unique<FloorDevice>(pace(b), b.lcore, kShare, FloorDevice::Icrc::frozen);
      }};
  for (const DeviceMaker& maker : makers) {
    const Entrant entrant{{&workload("write512"), 16, kInCustody}, maker};
    Trial trial({&entrant, 1}, few_packets(), ports, clock);
    const Side answered_at = trial.device(0).accelerates() ? Side::host : Side::wan;
    DelayMeter meter(*paced, trial.device(0), trial.session(0).connections(), answered_at);
    meter.set_interval(1000);
    std::size_t measured = 0;
    trial.turn(0, [&](Session& session) {
      session.set_observer(&meter);
      measured = session.measure(few_packets().packets).chunks.size();
      session.set_observer(nullptr);
      paced->schedule({});
    });
    const Delays& delays = meter.delays();
    CHECK(delays.chunks + delays.chunks_late == measured);
    CHECK(meter.missing() == 0);
    CHECK(delays.undisturbed.size() + delays.preempted.size() + delays.paused.size() ==
          delays.chunks * few_packets().chunks.frames);
    CHECK(trial.finish() == std::vector<std::vector<std::string>>{{}});
  }
}

TEST_CASE("a device that loses a frame is found") {
  for (const char* name : {"write512", "imix"}) {
    const auto fault = [is_due = late(Side::wan)](Side out, rte_mbuf** frames, std::uint16_t count) mutable {
      std::uint16_t left = 0;
      for (std::uint16_t i = 0; i < count; ++i)
        if (is_due(out))
          rte_pktmbuf_free(frames[i]);
        else
          frames[left++] = frames[i];
      return left;
    };
    CHECK_THAT(error_of(name, fault),
               Catch::Contains("came out") || Catch::Contains("did not come out") || Catch::Contains("after a loss"));
  }
}

TEST_CASE("a device that exchanges two frames is found") {
  for (const char* name : {"send64", "foreign64"}) {
    const auto fault = [bursts = 0](Side out, rte_mbuf** frames, std::uint16_t count) mutable {
      if (out == Side::wan && count > 17 && ++bursts == 20) std::swap(frames[0], frames[16]);  // of one connection
      return count;
    };
    CHECK_THAT(error_of(name, fault), Catch::Contains("out of order"));
  }
}

TEST_CASE("a device that alters a payload and makes the ICRC right again is found") {
  const auto fault = [](Side out, rte_mbuf** frames, std::uint16_t count) {
    for (std::uint16_t i = 0; out == Side::wan && i < count; ++i) {
      auto* bytes = rte_pktmbuf_mtod(frames[i], std::uint8_t*);
      if (frames[i]->data_len < 512) continue;  // RDMA-CM
      bytes[200] ^= 1;
      wire::refresh_icrc({bytes, frames[i]->data_len});
    }
    return count;
  };
  CHECK_THAT(error_of("write512", fault), Catch::Contains("with other bytes"));
}

TEST_CASE("a device that gives one ACK a wrong MSN is found") {
  const auto fault = [is_due = late(Side::host)](Side out, rte_mbuf** frames, std::uint16_t count) mutable {
    for (std::uint16_t i = 0; i < count; ++i) {
      if (!is_due(out)) continue;
      auto* bytes = rte_pktmbuf_mtod(frames[i], std::uint8_t*);
      bytes[frames[i]->data_len - wire::kIcrcSize - 1] ^= 1;  // the AETH's last byte
      wire::refresh_icrc({bytes, frames[i]->data_len});
    }
    return count;
  };
  CHECK_THAT(error_of("write64", fault), Catch::Contains("with a wrong MSN"));
}

TEST_CASE("a device that says an ACK twice is found") {
  const auto fault = [is_due = late(Side::host)](Side out, rte_mbuf** frames, std::uint16_t count) mutable {
    for (std::uint16_t i = 1; i < count; ++i) {
      if (!is_due(out)) continue;
      rte_pktmbuf_free(frames[i]);
      rte_mbuf_refcnt_update(frames[i - 1], 1);
      frames[i] = frames[i - 1];
    }
    return count;
  };
  CHECK_THAT(error_of("write64", fault), Catch::Contains("out of order, twice") || Catch::Contains("nobody asked"));
}

TEST_CASE("a box that does not acknowledge is found") {
  const auto maker = [](const Bench& bench) {
    engine::Settings settings = bench.settings;
    settings.policies.fallback = flow::Policy::off;
    return std::make_unique<BoxDevice>(bench.ports.pair(), bench.lcore, kShare, settings, bench.pools, bench.clock);
  };
  CHECK_THAT(first_error(run({&workload("write64"), 16, kInCustody}, {maker})),
             Catch::Contains("not acknowledged at once"));
}

int main(int argc, char** argv) {
  drivers::EalOptions options;
  options.program = "linerate_test";
  options.hugepages = false;
  options.memory_bytes = 512ull << 20;
  options.workers.assign(kDevices, 0);
  options.core = std::thread::hardware_concurrency() > 1 ? 1 : 0;
  const drivers::Eal eal(options);
  return test::run_test_cases(argc, argv);
}
