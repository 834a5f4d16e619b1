// SPDX-License-Identifier: BSD-3-Clause
// What a worker does for a scrape, for callgrind to count: test/bench/instructions/scrape. An engine with 4096
// connections and data in custody is asked for its counters, and in portions for all its connections, as app::Gatherer
// asks.
#include <fmt/core.h>
#include <valgrind/callgrind.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/box/orders.hpp"
#include "drivers/eal.hpp"
#include "expose/worker_report.hpp"
#include "test/bench/inline_box.hpp"
#include "test/bench/trial.hpp"

namespace {

using namespace longhaul;
using namespace longhaul::bench;

constexpr std::uint32_t kFlows = 4096;
constexpr std::uint32_t kInCustody = 8192;
constexpr std::uint32_t kPortion = 64;
constexpr unsigned kTimes = 16;

app::Orders::Deadline never() { return app::Orders::Deadline::max(); }

/// Counts the worker's part of an order.
void carry_out(app::Orders& orders, app::WorkerAccess& access, app::Order order) {
  auto ticket = orders.post(std::move(order), app::Orders::Deadline::clock::now() + std::chrono::hours(1));
  CALLGRIND_TOGGLE_COLLECT;
  orders.carry_out(access);
  CALLGRIND_TOGGLE_COLLECT;
  orders.wait(std::move(ticket), never());
}

void ask_for_counters(app::Orders& orders, app::WorkerAccess& access) {
  const auto report = std::make_shared<expose::WorkerReport>();
  carry_out(orders, access, [report](app::WorkerAccess& its) {
    *report = expose::WorkerReport(its.worker, its.activity);
    return true;
  });
}

/// Returns how many connections there were.
std::size_t ask_for_connections(app::Orders& orders, app::WorkerAccess& access) {
  std::size_t found = 0;
  for (std::uint32_t first = 0; first < access.engine.connection_slots(); first += kPortion) {
    const auto connections = std::make_shared<std::vector<engine::ConnectionState>>();
    connections->reserve(kPortion);
    carry_out(orders, access, [connections, first](app::WorkerAccess& its) {
      its.engine.describe(first, kPortion, its.now, *connections);
      return true;
    });
    found += connections->size();
  }
  return found;
}

void count(RingPorts& ports, const drivers::Clock& clock) {
  const Workload& row = workload("write512");
  const Point point{&row, kFlows, kInCustody};
  const Entrant entrant{
      point, [](const Bench& b) { return std::make_unique<InlineBox>(b.ports.pair(), b.settings, b.pools); }, true};
  Trial trial({&entrant, 1}, {}, ports, clock);
  trial.turn(0, [&](Session& session) {
    session.warm_up();
    app::Orders orders;
    Duration drain = 0;
    app::WorkerAccess access{dynamic_cast<InlineBox&>(session.device()).worker(), {}, clock.now(), drain, nullptr};
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    for (unsigned i = 0; i < kTimes; ++i) ask_for_counters(orders, access);
    CALLGRIND_DUMP_STATS;
    fmt::print("counters {}\n", kTimes);
    const std::size_t connections = ask_for_connections(orders, access);
    CALLGRIND_DUMP_STATS;
    CALLGRIND_STOP_INSTRUMENTATION;
    if (connections != kFlows) throw std::runtime_error(fmt::format("{} connections, not {}", connections, kFlows));
    fmt::print("connections {}\n", connections);
  });
  const auto errors = trial.finish();
  for (const std::string& error : errors.front()) throw std::runtime_error(error);
}

}  // namespace

int main() {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__)
  fmt::print(stderr,
             "counted_scrape: compiled without optimization or with sanitizers, its count would mean nothing\n");
  return 2;
#endif
  try {
    drivers::EalOptions options;
    options.program = "counted_scrape";
    options.hugepages = false;
    options.memory_bytes = 1ull << 30;
    const drivers::Eal eal(options);
    const drivers::Clock clock;
    RingPorts ports(1024, 4096);
    count(ports, clock);
  } catch (const std::exception& e) {
    fmt::print(stderr, "counted_scrape: {}\n", e.what());
    return 1;
  }
  return 0;
}
