// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/gatherer.hpp"

#include <rte_cycles.h>

#include <algorithm>
#include <utility>

namespace longhaul::app {
namespace {

using Clock = Gatherer::Clock;

Time time_of(Clock::time_point point) { return nanoseconds(point.time_since_epoch()); }

/// On which pairs of hosts the worker spent its time since the last call. Throws WorkerSilent.
std::vector<engine::BusyPair> time_by_pair(Workers& workers, unsigned worker) {
  // It belongs to the order, since the worker may be late.
  const auto pairs = std::make_shared<std::vector<engine::BusyPair>>();
  workers.order(
      worker,
      [pairs](WorkerAccess& access) {
        *pairs = access.engine.take_busy_pairs();
        return true;
      },
      Gatherer::kPatience);
  return std::move(*pairs);
}

}  // namespace

Gatherer::Gatherer(Workers& workers, const Requests& requests, expose::Identity identity, Ports ports,
                   std::size_t pair_limit)
    : workers_(workers),
      requests_(requests),
      ports_(std::move(ports)),
      identity_(std::move(identity)),
      known_(workers.count()),
      flows_walk_(workers),
      survey_walk_(workers),
      survey_(pair_limit) {
  for (Known& known : known_) known.at = Clock::now();
}

std::shared_ptr<const expose::Snapshot> Gatherer::snapshot() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (last_ != nullptr && now - last_at_ < kReused) return last_;
  for (unsigned i = 0; i < workers_.count(); ++i) ask(i, now + kPatience);
  last_ = std::make_shared<const expose::Snapshot>(put_together());
  last_at_ = Clock::now();
  return last_;
}

expose::Snapshot Gatherer::now() {
  // Not under the lock: a worker that has others' orders to carry out may take its time, and a scrape must not wait for
  // that.
  std::vector<expose::WorkerReport> reports;
  for (unsigned i = 0; i < workers_.count(); ++i) reports.push_back(workers_.ask_report(i));
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < workers_.count(); ++i) {
    known_[i].report = std::move(reports[i]);
    known_[i].at = Clock::now();
    known_[i].alive = true;
    known_[i].rounds = workers_.rounds(i);
  }
  return put_together();
}

expose::Snapshot Gatherer::now_with_connections() {
  const Flows all = flows();
  expose::Snapshot out = now();
  static_cast<expose::ConnectionSums&>(out.survey) = {};
  for (const Flow& flow : *all) out.survey.add(flow.state);
  return out;
}

expose::Snapshot Gatherer::at_end() const {
  const std::lock_guard lock(mutex_);
  expose::Snapshot out = put_together();
  out.age = 0;
  out.total = {};
  const std::vector<expose::WorkerReport> reports = workers_.reports();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    out.workers[i] = {true, reports[i]};
    out.total += reports[i];
  }
  return out;
}

void Gatherer::identify(expose::Identity identity) {
  const std::lock_guard lock(mutex_);
  identity.started = identity_.started;
  identity_ = std::move(identity);
  last_ = nullptr;
}

void Gatherer::ask(unsigned worker, Clock::time_point deadline) {
  Known& known = known_[worker];
  const std::uint64_t rounds = workers_.rounds(worker);
  if (!known.alive && rounds == known.rounds && Clock::now() < known.ask_again) return;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  try {
    known.report = workers_.ask_report(worker, std::max(left, std::chrono::milliseconds(5)));
    known.at = Clock::now();
    known.alive = true;
  } catch (const WorkerSilent&) {
    // The worker may only be busy with others' orders.
    known.alive = workers_.rounds(worker) != rounds;
    known.ask_again = Clock::now() + kAskAgain;
  }
  known.rounds = workers_.rounds(worker);
}

expose::Snapshot Gatherer::put_together() const {
  expose::Snapshot out;
  const Clock::time_point now = Clock::now();
  out.identity = identity_;
  out.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  out.uptime = nanoseconds(now - began_);
  out.stopping = requests_.stops.load(std::memory_order_relaxed) > 0;
  for (const Known& known : known_) {
    out.workers.push_back({known.alive, known.report});
    out.total += known.report;
    out.age = std::max(out.age, nanoseconds(now - known.at));
  }
  for (const Side side : kSides) out.ports[side] = ports_(side);
  out.survey = surveyed_;
  if (surveyed_.made) out.survey_age = nanoseconds(now - surveyed_at_);
  return out;
}

Gatherer::Flows Gatherer::flows() {
  const std::lock_guard lock(flows_mutex_);
  if (flows_ != nullptr && Clock::now() - flows_at_ < kFlowsReused) return flows_;
  auto all = std::make_shared<std::vector<Flow>>();
  flows_walk_.run([&all](unsigned worker, const std::vector<engine::ConnectionState>& portion) {
    for (const engine::ConnectionState& state : portion) all->push_back({worker, state});
  });
  flows_ = std::move(all);
  flows_at_ = Clock::now();
  return flows_;
}

void Gatherer::flows_changed() {
  const std::lock_guard lock(flows_mutex_);
  flows_ = nullptr;
}

void Gatherer::survey() {
  const Clock::time_point began = Clock::now();
  if (began < survey_due_) return;
  survey_due_ = began + kSurveyPeriod;
  survey_.begin(time_of(began));
  const Duration most = survey_walk_.run(
      [this](unsigned, const std::vector<engine::ConnectionState>& portion) { survey_.add(portion); }, kPatience);
  for (unsigned worker = 0; worker < workers_.count(); ++worker)
    survey_.add(time_by_pair(workers_, worker), static_cast<double>(rte_get_tsc_hz()));
  survey_.finish();
  // For a table of 65,536 connections a worker needs tens of milliseconds. Such a table is surveyed less often.
  const auto fair = std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(most) / kSurveyShare));
  survey_due_ = began + std::max<Clock::duration>(kSurveyPeriod, fair);
  const std::lock_guard lock(mutex_);
  surveyed_ = survey_.result();
  surveyed_at_ = Clock::now();
}

}  // namespace longhaul::app
