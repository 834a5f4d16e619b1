// SPDX-License-Identifier: BSD-3-Clause
// Two workers in threads of their own under load: everything comes out as it should, in order, and the sums are right.
#include <catch2/catch.hpp>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "app/box/gatherer.hpp"
#include "app/box/workers.hpp"
#include "drivers/eal.hpp"
#include "loaded_hosts.hpp"
#include "support/catch_session.hpp"
#include "support/seen.hpp"
#include "thread_sanitizer.hpp"
#include "threaded_box.hpp"
#include "wires.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

constexpr unsigned kLcores = 3;
constexpr std::uint32_t kMessages = kThreadSanitizer ? 150 : 3000;

/// `count` connections between the hosts 10.0.0.1 and `b_ip`.
std::vector<Pair> connections(const std::string& b_ip, std::uint32_t first, std::uint32_t count) {
  std::vector<Pair> all;
  for (std::uint32_t n = first; n < first + count; ++n) {
    Pair pair;
    pair.b_ip = b_ip;
    pair.a_qpn = 0x100 + n;
    pair.b_qpn = 0x200 + n;
    pair.a_comm = 0xa00 + n;
    pair.b_comm = 0xb00 + n;
    pair.transaction = 0x70 + n;
    pair.a_psn = 1000 * n;
    all.push_back(pair);
  }
  return all;
}

std::uint64_t not_forwarded(const Counters& counters) {
  std::uint64_t sum = 0;
  for (const Counter counter : metrics::kNotForwarded) sum += counters[counter];
  return sum;
}

}  // namespace

TEST_CASE("two workers under load: all comes out in order, the sums are right, custody ends empty") {
  const bool one_queue = GENERATE(false, true);
  const bool spread = GENERATE(true, false);
  CAPTURE(one_queue, spread);
  Box box(spread);
  Load load;
  load.messages = kMessages;
  load.one_queue = one_queue;
  // Two pairs of hosts. Each worker is the home of one.
  load.connections = connections("10.0.0.2", 0, 8);
  for (const Pair& pair : connections("10.0.0.3", 8, 4)) load.connections.push_back(pair);
  const auto home = [](const Pair& pair) {
    const auto hash = steer::pair_hash(wire::IpAddress::parse(pair.a_ip), wire::IpAddress::parse(pair.b_ip));
    return steer::worker_of_entry(hash % steer::kIndirection, kWorkers);
  };
  REQUIRE(home(load.connections.front()) != home(load.connections.back()));

  LoadedHosts hosts(load, *box.wires, box.pools.frames);
  app::Requests requests;
  std::exception_ptr failure;
  std::uint64_t reports = 0, last = 0;
  bool grows = true;
  app::Gatherer gatherer(
      *box.workers, requests, {}, [](Side) { return expose::PortState{}; }, 0);
  const auto ask = [&] {
    const expose::Snapshot now = gatherer.now();
    ++reports;
    const std::uint64_t pseudo_acks = now.total.counters[Counter::pseudo_acks];
    grows = grows && now.workers.size() == kWorkers && pseudo_acks >= last;
    last = pseudo_acks;
  };
  std::thread peer([&] {
    rte_thread_register();
    try {
      hosts.run([&ask] { ask(); });  // again and again during the run
    } catch (...) {
      failure = std::current_exception();
    }
    requests.stops.store(failure ? 2 : 1);
  });
  const app::StopRecord stop = box.workers->run(requests);
  peer.join();
  if (failure) std::rethrow_exception(failure);

  CHECK(stop.left_packets == 0);
  CHECK(reports > 0);
  CHECK(grows);
  const std::vector<expose::WorkerReport> parts = box.workers->reports();
  REQUIRE(parts.size() == kWorkers);
  const expose::WorkerReport all = gatherer.at_end().total;
  const Counters& counters = all.counters;
  const std::uint64_t received = counters[Counter::frames_host] + counters[Counter::frames_wan];
  CHECK(all.custody_packets == 0);
  CHECK(counters[Counter::dropped_ring_full] == 0);
  CHECK(received == hosts.put() + counters[Counter::cm_requests_shown]);
  CHECK(received == counters[Counter::forwarded_host] + counters[Counter::forwarded_wan] + not_forwarded(counters) +
                        all.waiting_frames);
  // The responder answers the first request of each connection.
  CHECK(counters[Counter::pseudo_acks] == load.connections.size() * (kMessages - 1));
  CHECK(counters[Counter::connections_learned] == load.connections.size());
  CHECK(counters[Counter::connections_closed] == load.connections.size());
  CHECK(counters[Counter::icrc_bad] == 0);
  for (const expose::WorkerReport& part : parts) CHECK(part.counters[Counter::pseudo_acks] > 0);
  if (spread) {
    // Each home gave half of its connections to the other worker.
    CHECK(counters[Counter::connections_spread] == load.connections.size() / 2);
    CHECK(counters[Counter::cm_requests_shown] == load.connections.size() / 2);
    for (const expose::WorkerReport& part : parts) {
      CHECK(part.counters[Counter::handed_over] > 0);
      CHECK(part.counters[Counter::connections_learned] == load.connections.size() / 2);
    }
  } else {
    CHECK(counters[Counter::handed_over] == 0);
  }
  if (one_queue)
    CHECK(parts[0].counters[Counter::handed_home] > 0);
  else
    CHECK(counters[Counter::handed_home] == 0);
}

TEST_CASE("a worker that was told nothing stops with the others") {
  Box box(true);
  app::Requests requests;
  requests.stops.store(1);
  const app::StopRecord stop = box.workers->run(requests);
  CHECK(stop.left_packets == 0);
}

TEST_CASE("when an lcore cannot be had, the workers that run already have ended before that is told") {
  Box box(true, 3);
  // Not on the stack: the thread sanitizer does not see that the reader has ended when rte_eal_wait_lcore() returns.
  static std::atomic<bool> busy;
  busy = true;
  const auto keep_busy = [](void*) {
    while (busy) std::this_thread::yield();
    return 0;
  };
  REQUIRE(rte_eal_remote_launch(keep_busy, nullptr, 2) == 0);
  app::Requests requests;
  CHECK_THROWS_WITH(box.workers->run(requests), Catch::Contains("lcore 2"));
  CHECK(rte_eal_get_lcore_state(1) == WAIT);
  busy = false;
  rte_eal_wait_lcore(2);
}

TEST_CASE("what an earlier process owed is found by the worker that has its slot") {
  std::vector<custody::RecordSlot> record(box::record_slots(box_settings(), kWorkers));
  // One slot in each worker's part of the record, whichever worker is the home.
  const auto all = connections("10.0.0.2", 0, 2);
  for (unsigned worker = 0; worker < kWorkers; ++worker) {
    flow::ConnectionInfo info;
    info.end(Side::host) = {wire::IpAddress::parse(all[worker].a_ip), all[worker].a_qpn, all[worker].a_psn};
    info.end(Side::wan) = {wire::IpAddress::parse(all[worker].b_ip), all[worker].b_qpn, all[worker].b_psn};
    custody::RecordSlot& slot = record[worker * record.size() / kWorkers + 5];
    slot.open(custody::RecordedConnection::of(info, std::nullopt));
    slot.promise(all[worker].a_psn + 10, 10, 1000);
  }
  Box box(true);
  box.workers->use_record(record);
  app::Requests requests;
  std::vector<Seen> answers;
  std::thread peer([&] {
    rte_thread_register();
    for (const Pair& pair : all) {
      const Bytes bytes = pair.write(pair.a_psn + 10);
      rte_mbuf* frame = rte_pktmbuf_alloc(box.pools.frames);
      std::copy(bytes.begin(), bytes.end(), rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size())));
      box.wires->put(Side::host, 0, frame);
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (answers.size() < all.size() && std::chrono::steady_clock::now() < until)
      if (rte_mbuf* frame = box.wires->take(Side::host)) {
        const auto* data = rte_pktmbuf_mtod(frame, const std::uint8_t*);
        answers.emplace_back(Bytes(data, data + frame->data_len));
        free_taken(frame);
      } else {
        std::this_thread::yield();
      }
    requests.stops.store(2);
  });
  box.workers->run(requests);
  peer.join();
  REQUIRE(answers.size() == all.size());
  for (const Seen& answer : answers) CHECK(answer.syndrome == 0x63);  // the fatal NAK
  const auto parts = box.workers->reports();
  for (const expose::WorkerReport& part : parts) {
    CHECK(part.counters[Counter::flows_failed_by_restart] == 1);
    CHECK(part.counters[Counter::fatal_naks] == 1);
  }
}

int main(int argc, char** argv) {
  drivers::EalOptions options;
  options.program = "workers";
  options.hugepages = false;
  options.memory_bytes = 512ull << 20;
  for (unsigned i = 1; i < kLcores; ++i) options.workers.push_back(i % std::thread::hardware_concurrency());
  const drivers::Eal eal(options);
  explain_mempools();
  return run_test_cases(argc, argv);
}
