// SPDX-License-Identifier: BSD-3-Clause
#include "app/workers.hpp"

#include <fmt/format.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <stdexcept>
#include <utility>

#include "engine/engine.hpp"
#include "steer/restart.hpp"
#include "steer/shown_sink.hpp"
#include "steer/spreader.hpp"

namespace longhaul::app {

namespace {

std::uint32_t divided(std::uint32_t whole, unsigned workers) { return (whole + workers - 1) / workers; }

/// What the lcore has done before it set `done` is to be seen from here on. (DPDK promises as much; to say it again
/// costs nothing, and the thread sanitizer, which does not see into DPDK, can follow.)
void wait_for(unsigned lcore, const std::atomic<bool>& done) {
  rte_eal_wait_lcore(lcore);
  if (!done.load(std::memory_order_acquire)) throw std::logic_error("an lcore ended without an end");
}

/// Runs `work` on an lcore and waits for it; 0 is the calling thread.
void on_lcore(unsigned lcore, const std::function<void()>& work) {
  if (lcore == 0) {
    work();
    return;
  }
  struct Call {
    const std::function<void()>& work;
    std::exception_ptr failure = nullptr;
    std::atomic<bool> done{false};
  } call{work};
  const auto body = [](void* argument) {
    Call& its = *static_cast<Call*>(argument);
    try {
      its.work();
    } catch (...) {
      its.failure = std::current_exception();
    }
    its.done.store(true, std::memory_order_release);
    return 0;
  };
  if (rte_eal_remote_launch(body, &call, lcore) != 0)
    throw std::runtime_error(fmt::format("lcore {} is not there or busy", lcore));
  wait_for(lcore, call.done);
  if (call.failure) std::rethrow_exception(call.failure);
}

void fill(BoxReport& report, const WorkerAccess& access) {
  report = BoxReport(access.engine, access.spreader, access.activity);
  report.waiting_frames = report.not_gone();
}

}  // namespace

engine::Settings share_of(const engine::Settings& box, unsigned workers) {
  engine::Settings share = box;
  // A share of 0 would mean unlimited.
  if (box.wan_rate_bps > 0) share.wan_rate_bps = std::max<std::uint64_t>(box.wan_rate_bps / workers, 1);
  share.custody_box_bytes = box.custody_box_bytes / workers;
  share.custody_flow_bytes = std::min(box.custody_flow_bytes, share.custody_box_bytes);
  share.initial_window_bytes = std::min(box.initial_window_bytes, share.custody_flow_bytes);
  share.custody_mbufs = box.custody_mbufs / workers;
  share.max_connections = divided(box.max_connections, workers);
  share.max_candidates = divided(box.max_candidates, workers);
  return share;
}

BoxReport total(std::span<const BoxReport> reports) {
  BoxReport sum;
  for (const BoxReport& report : reports) sum += report;
  return sum;
}

struct Workers::Worker {
  explicit Worker(const WorkerPlace& place) : sink(place.host, place.wan) {}

  PortSink sink;
  FlowLog log;
  // These two only with several workers.
  std::unique_ptr<steer::Spreader> spreader;
  std::unique_ptr<steer::ShownSink> shown_sink;
  std::unique_ptr<engine::Engine> engine;
  StopRecord stop;
  std::exception_ptr failure;
  std::atomic<bool> done{false};
  Orders orders;
  std::unique_ptr<BoxLoop> loop;
};

Workers::Workers(const WorkersOptions& options, std::vector<WorkerPlace> places, const drivers::Clock& clock)
    : options_(options),
      share_(share_of(options.engine, static_cast<unsigned>(places.size()))),
      places_(std::move(places)),
      clock_(clock),
      rings_(static_cast<unsigned>(places_.size())),
      together_(static_cast<unsigned>(places_.size())) {
  for (const WorkerPlace& place : places_) workers_.push_back(std::make_unique<Worker>(place));
  if (count() > 1) shown_ = steer::make_shown_pool(places_.front().socket);
  try {
    for (unsigned i = 0; i < count(); ++i) on_lcore(i, [this, i] { make(i); });
  } catch (...) {
    workers_.clear();
    rte_mempool_free(shown_);
    throw;
  }
}

Workers::~Workers() {
  // Rings and engines hold frames of the pools.
  rings_ = steer::HandOverRings(0);
  workers_.clear();
  rte_mempool_free(shown_);
}

void Workers::make(unsigned number) {
  Worker& worker = *workers_[number];
  const WorkerPlace& place = places_[number];
  engine::Sink* sink = &worker.sink;
  if (count() > 1) {
    steer::SteeringSettings steering;
    steering.self = static_cast<steer::Worker>(number);
    for (unsigned i = 0; options_.spread_connections && i < count(); ++i)
      if (places_[i].socket == place.socket) steering.owners.push_back(static_cast<steer::Worker>(i));
    // One home may have them all.
    steering.max_connections = options_.engine.max_connections;
    steering.max_pending_cm = options_.engine.max_pending_cm;
    steering.give_up = options_.engine.give_up;
    steering.own_engine_knows = [&worker](const flow::ConnectionInfo& info, Side from) {
      return worker.engine->knows(info, from);
    };
    worker.spreader = std::make_unique<steer::Spreader>(steering, rings_, shown_);
    worker.shown_sink = std::make_unique<steer::ShownSink>(worker.sink, *worker.spreader);
    sink = worker.shown_sink.get();
  }
  worker.engine = std::make_unique<engine::Engine>(share_, place.pools, *sink, &worker.log);
  if (count() > 1) {
    worker.engine->share(shared_);
    worker.engine->ask_before_learning(
        [&worker](const flow::ConnectionInfo& info, Time now) { return worker.spreader->sees_whole(info, now); });
  }
  worker.loop = std::make_unique<BoxLoop>(*worker.engine, place.host, place.wan, clock_, loop_options(number));
}

std::uint32_t Workers::record_slots(const engine::Settings& box, unsigned workers) {
  return share_of(box, workers).max_connections * workers;
}

void Workers::use_record(std::span<custody::RecordSlot> record) {
  const std::size_t part = share_.max_connections;
  const Time now = clock_.now();
  std::vector<steer::Steering*> steerings;
  if (count() > 1)
    for (const auto& worker : workers_) steerings.push_back(&worker->spreader->steering());
  for (unsigned i = 0; i < count(); ++i) {
    const auto slots = record.subspan(i * part, part);
    if (count() > 1) steer::remember_owners(slots, static_cast<steer::Worker>(i), steerings, now);
    workers_[i]->engine->use_record(slots, now);
  }
}

BoxLoopOptions Workers::loop_options(unsigned number) {
  Worker& worker = *workers_[number];
  BoxLoopOptions options;
  options.sleep_when_idle = options_.sleep_when_idle;
  options.drain = options_.drain;
  options.orders = &worker.orders;
  options.sink = &worker.sink;
  if (count() > 1) {
    options.spreader = worker.spreader.get();
    options.together = &together_;
  }
  return options;
}

void Workers::order(unsigned worker, Order order, std::chrono::milliseconds patience) {
  order_some(
      worker, worker + 1, [&order](unsigned) { return std::move(order); }, patience);
}

void Workers::order_all(const std::function<Order(unsigned worker)>& make, std::chrono::milliseconds patience) {
  order_some(0, count(), make, patience);
}

void Workers::order_some(unsigned first, unsigned end, const std::function<Order(unsigned worker)>& make,
                         std::chrono::milliseconds patience) {
  const Orders::Deadline deadline = std::chrono::steady_clock::now() + patience;
  unsigned current = first;
  try {
    // By number, so that two who order all do not wait for each other.
    std::vector<Orders::Ticket> tickets;
    for (; current < end; ++current) tickets.push_back(workers_.at(current)->orders.post(make(current), deadline));
    for (current = first; current < end; ++current)
      workers_[current]->orders.wait(std::move(tickets[current - first]), deadline);
  } catch (const WorkerSilent& error) {
    throw WorkerSilent(fmt::format("worker {}: {}", current, error.what()));
  }
}

BoxReport Workers::ask_report(unsigned worker, std::chrono::milliseconds patience) {
  const auto report = std::make_shared<BoxReport>();
  order(
      worker,
      [report](WorkerAccess& access) {
        fill(*report, access);
        return true;
      },
      patience);
  return std::move(*report);
}

std::vector<BoxReport> Workers::ask_reports() {
  const auto reports = std::make_shared<std::vector<BoxReport>>(count());
  order_all([&reports](unsigned worker) -> Order {
    return [reports, worker](WorkerAccess& access) {
      fill((*reports)[worker], access);
      return true;
    };
  });
  return std::move(*reports);
}

std::uint64_t Workers::rounds(unsigned worker) const { return workers_.at(worker)->loop->rounds(); }
Pauses Workers::pauses(unsigned worker) const { return workers_.at(worker)->loop->pauses(); }

StopRecord Workers::run(Requests& requests) {
  struct Call {
    Worker& worker;
    Requests& requests;
  };
  std::vector<Call> calls;
  for (const auto& worker : workers_) calls.push_back({*worker, requests});
  const auto body = [](void* argument) {
    const Call& call = *static_cast<Call*>(argument);
    Worker& worker = call.worker;
    try {
      worker.stop = worker.loop->run(call.requests);
    } catch (...) {
      worker.failure = std::current_exception();
      call.requests.stops.fetch_add(2, std::memory_order_relaxed);  // alone the others would be no box
    }
    worker.orders.close();
    worker.done.store(true, std::memory_order_release);
    return 0;
  };
  unsigned launched = 1;
  while (launched < count() && rte_eal_remote_launch(body, &calls[launched], launched) == 0) ++launched;
  const bool all = launched == count();
  if (all)
    body(calls.data());
  else
    requests.stops.fetch_add(2, std::memory_order_relaxed);
  // They use what is on this stack.
  for (unsigned i = 1; i < launched; ++i) wait_for(i, workers_[i]->done);
  if (!all) throw std::runtime_error(fmt::format("lcore {} is not there or busy", launched));
  StopRecord sum;
  for (unsigned i = 0; i < count(); ++i) {
    const Worker& worker = *workers_[i];
    if (worker.failure) std::rethrow_exception(worker.failure);
    sum.at_stop_packets += worker.stop.at_stop_packets;
    sum.at_stop_bytes += worker.stop.at_stop_bytes;
    sum.left_packets += worker.stop.left_packets;
    sum.left_bytes += worker.stop.left_bytes;
    sum.ran = std::max(sum.ran, worker.stop.ran);
  }
  return sum;
}

std::vector<BoxReport> Workers::reports() const {
  std::vector<BoxReport> reports;
  for (const auto& worker : workers_) {
    reports.emplace_back(*worker->engine, worker->spreader.get(), Activity{});
    reports.back().waiting_frames = worker->engine->waiting_frames();
  }
  return reports;
}

std::uint64_t Workers::unconfirmed_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& worker : workers_) bytes += worker->engine->unconfirmed_bytes();
  return bytes;
}

}  // namespace longhaul::app
