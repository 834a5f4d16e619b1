// SPDX-License-Identifier: BSD-3-Clause
// How long a requester waits for its pseudo-ACK: the box's own loop, busy polling, between memory-only ports; a second
// thread is requester, long haul and responder. Everything that comes out is checked.
#include <fmt/core.h>
#include <pthread.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <thread>
#include <vector>

#include "app/box_loop.hpp"
#include "app/report.hpp"
#include "drivers/clock.hpp"
#include "drivers/eal.hpp"
#include "drivers/memory_port.hpp"
#include "engine/engine.hpp"
#include "test/bench/traffic.hpp"

namespace {

using namespace longhaul;

void pin_to(unsigned cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
}

int measure(const bench::TrafficOptions& traffic, bool with_record) {
  engine::PoolPlan plan;
  // Frames of up to 1280 bytes are held in small buffers: room for what one and a half round trips bring.
  const auto in_custody = static_cast<std::uint32_t>(traffic.rate * static_cast<double>(traffic.round_trip) / 1e9);
  // A NIC's rings: small enough that receive buffers come round again while a cache remembers them.
  plan.frame_bytes = std::max(2048u, traffic.payload + 128);
  plan.frames = traffic.payload + 128 <= engine::Pools::kSmallBytes.back() ? 8192 : 8192 + in_custody * 3 / 2;
  plan.small_frames = in_custody * 3 / 2 + 65536;

  drivers::EalOptions eal_options;
  eal_options.hugepages = false;
  eal_options.memory_bytes = engine::Pools::bytes_needed(plan) + (512u << 20);
  eal_options.core = 0;
  const drivers::Eal eal(eal_options);
  engine::Pools pools = engine::Pools::create(plan);
  const drivers::Clock clock;

  auto [host_end, host_port] = drivers::MemoryPort::make_wire("host", 1024);
  auto [wan_end, wan_port] = drivers::MemoryPort::make_wire("wan", 1024);

  engine::Settings settings;
  settings.custody_box_bytes = 4ull << 30;
  settings.custody_flow_bytes = 4ull << 30;
  settings.custody_mbufs = in_custody * 3 / 2;
  settings.initial_window_bytes = 4ull << 30;
  settings.max_connections = traffic.flows + 1;

  int status = 0;
  {
    app::PortSink sink(*host_port, *wan_port);
    std::vector<custody::RecordSlot> slots(settings.max_connections);
    engine::Engine engine(settings, pools, sink);
    if (with_record) engine.use_record(slots, clock.now());
    app::Requests requests;
    bench::TrafficResult result;
    std::exception_ptr failure;
    std::thread peer([&] {
      pin_to(1);
      rte_thread_register();  // an lcore of its own, or each mbuf costs a turn on the pool's shared ring
      try {
        result = bench::run_traffic(traffic, *host_end, *wan_end, pools.frames, clock);
      } catch (...) {
        failure = std::current_exception();
      }
      requests.stops.store(1);
    });
    app::BoxLoopOptions options;
    app::BoxLoop loop(engine, *host_port, *wan_port, clock, options);
    const app::StopRecord record = loop.run(requests);
    peer.join();
    if (failure) std::rethrow_exception(failure);

    const metrics::Histogram& delay = engine.pseudo_ack_delay();
    app::Json json;
    json["payload_bytes"] = traffic.payload;
    json["flows"] = traffic.flows;
    json["round_trip_ms"] = static_cast<double>(traffic.round_trip) / 1e6;
    json["requests_offered"] = result.offered;
    json["requests_per_second"] = result.offered_per_second;
    json["pseudo_acks"] = result.pseudo_acks;
    json["delivered"] = result.delivered;
    json["repeated_at_responder"] = result.repeated;
    json["custody_packets_left"] = record.left_packets;
    json["resends"] = engine.counters()[Counter::resends];
    json["delay_samples"] = delay.count();
    for (const auto& [name, fraction] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}})
      json[std::string("delay_ns_") + name] = delay.quantile(fraction);
    json["delay_ns_max"] = delay.max();
    json["wan_rtt_ns_p50"] = engine.wan_rtt().quantile(0.5);
    json["delay_histogram_ns"] = app::Json::array();  // [upper edge of the bucket, samples in it]
    for (std::size_t i = 0; i < metrics::Histogram::kBuckets; ++i)
      if (delay.bucket(i) != 0)
        json["delay_histogram_ns"].push_back({metrics::Histogram::upper_edge(i), delay.bucket(i)});
    json["errors"] = result.errors;
    std::cout << json.dump() << "\n";
    std::cerr << app::histogram_table("delay of pseudo-ACKs", delay);
    if (!result.errors.empty() || record.left_packets != 0) status = 1;
  }
  pools.destroy();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Measures the delay from the return of the burst receive that brought a request to the acceptance of its "
      "pseudo-ACK by the port.\nPrints one JSON object, and the histogram on standard error; exit status 1 when what "
      "came out of the box was wrong "
      "(never for being slow). Uses processors 0 and 1."};
  bench::TrafficOptions traffic;
  double round_trip_ms = 10;
  app.add_option("--rate", traffic.rate, "requests offered per second")->capture_default_str();
  app.add_option("--requests", traffic.requests, "how many")->capture_default_str();
  app.add_option("--payload", traffic.payload, "bytes of each WRITE")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("--flows", traffic.flows, "connections")->check(CLI::Range(1, 16384))->capture_default_str();
  app.add_option("--round-trip", round_trip_ms, "of the long haul, in ms")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  bool with_record = false;
  app.add_flag("--record", with_record, "with a restart record, in ordinary memory");
  CLI11_PARSE(app, argc, argv);
  traffic.round_trip = static_cast<Duration>(round_trip_ms * 1e6);
  try {
    return measure(traffic, with_record);
  } catch (const std::exception& e) {
    fmt::print(stderr, "ack_delay: {}\n", e.what());
    return 1;
  }
}
