// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/workers.hpp"

#include <fmt/format.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <stdexcept>
#include <utility>

#include "engine/engine.hpp"

namespace longhaul::app {

namespace {

/// Makes visible from here on what the lcore did before it set `done`. DPDK promises this too. Saying it again costs
/// nothing, and helps the thread sanitizer, which does not see into DPDK.
void wait_for(unsigned lcore, const std::atomic<bool>& done) {
  rte_eal_wait_lcore(lcore);
  if (!done.load(std::memory_order_acquire)) throw std::logic_error("an lcore ended without a result");
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
    throw std::runtime_error(fmt::format("lcore {} does not exist or is busy", lcore));
  wait_for(lcore, call.done);
  if (call.failure) std::rethrow_exception(call.failure);
}

}  // namespace

struct Workers::Worker {
  explicit Worker(const WorkerPorts& ports) : sink(ports.host, ports.wan) {}

  PortSink sink;
  FlowLog log;
  StopRecord stop;
  std::exception_ptr failure;
  std::atomic<bool> done{false};
  Orders orders;
  std::unique_ptr<BoxLoop> loop;
};

Workers::Workers(const WorkersOptions& options, const std::vector<WorkerPorts>& ports, const drivers::Clock& clock)
    : options_(options), clock_(clock), together_(static_cast<unsigned>(ports.size())) {
  std::vector<box::WorkerPlace> places;
  for (const WorkerPorts& its : ports) {
    workers_.push_back(std::make_unique<Worker>(its));
    places.push_back({workers_.back()->sink, its.pools, &workers_.back()->log, its.socket});
  }
  wiring_ = std::make_unique<box::Wiring>(options.box, std::move(places), clock.now(), on_lcore);
  for (unsigned i = 0; i < count(); ++i)
    on_lcore(i, [&, i] {
      workers_[i]->loop =
          std::make_unique<BoxLoop>(*wiring_->workers()[i], ports[i].host, ports[i].wan, clock_, loop_options(i));
    });
}

Workers::~Workers() = default;

BoxLoopOptions Workers::loop_options(unsigned number) {
  Worker& worker = *workers_[number];
  BoxLoopOptions options;
  options.sleep_when_idle = options_.sleep_when_idle;
  options.drain = options_.drain;
  options.orders = &worker.orders;
  options.sink = &worker.sink;
  if (count() > 1) options.together = &together_;
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
    // In order of number, so that two threads that order all do not wait for each other.
    std::vector<Orders::Ticket> tickets;
    for (; current < end; ++current) tickets.push_back(workers_.at(current)->orders.post(make(current), deadline));
    for (current = first; current < end; ++current)
      workers_[current]->orders.wait(std::move(tickets[current - first]), deadline);
  } catch (const WorkerSilent& error) {
    throw WorkerSilent(fmt::format("worker {}: {}", current, error.what()));
  }
}

expose::WorkerReport Workers::ask_report(unsigned worker, std::chrono::milliseconds patience) {
  const auto report = std::make_shared<expose::WorkerReport>();
  order(
      worker,
      [report](WorkerAccess& access) {
        *report = expose::WorkerReport(access.worker, access.activity);
        return true;
      },
      patience);
  return std::move(*report);
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
      call.requests.stops.fetch_add(2, std::memory_order_relaxed);  // the others alone would be no box
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
  // The launched workers use objects on this stack.
  for (unsigned i = 1; i < launched; ++i) wait_for(i, workers_[i]->done);
  if (!all) throw std::runtime_error(fmt::format("lcore {} does not exist or is busy", launched));
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

std::vector<expose::WorkerReport> Workers::reports() const {
  std::vector<expose::WorkerReport> reports;
  for (const auto& worker : wiring_->workers()) {
    reports.emplace_back(*worker, expose::Activity{});
    reports.back().waiting_frames = worker->engine().waiting_frames();
  }
  return reports;
}

std::uint64_t Workers::unconfirmed_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& worker : wiring_->workers()) bytes += worker->engine().unconfirmed_bytes();
  return bytes;
}

}  // namespace longhaul::app
