// SPDX-License-Identifier: BSD-3-Clause
#include "app/monitor/gatherer.hpp"

#include <algorithm>
#include <utility>

#include "engine/connection_state.hpp"

namespace longhaul::app {
namespace {

using Clock = Gatherer::Clock;

Duration nanoseconds(Clock::duration duration) {
  return static_cast<Duration>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

Time time_of(Clock::time_point point) { return nanoseconds(point.time_since_epoch()); }

/// The connections that a worker was asked for. They belong to the order, since the worker may be late.
struct Portion {
  std::vector<engine::ConnectionState> connections;
  std::uint32_t slots = 0;  ///< how many there are in all
  Duration took = 0;
};

}  // namespace

Gatherer::Gatherer(Workers& workers, expose::Identity identity, Ports ports, std::size_t pair_limit)
    : workers_(workers),
      ports_(std::move(ports)),
      identity_(std::move(identity)),
      known_(workers.count()),
      survey_(pair_limit) {
  for (Known& known : known_) known.at = Clock::now();
}

std::shared_ptr<const expose::Snapshot> Gatherer::snapshot() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (last_ != nullptr && now - last_at_ < kReused) return last_;
  for (unsigned i = 0; i < workers_.count(); ++i) ask(i, now + kPatience);
  last_ = put_together();
  last_at_ = Clock::now();
  return last_;
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

std::shared_ptr<const expose::Snapshot> Gatherer::put_together() const {
  const auto out = std::make_shared<expose::Snapshot>();
  const Clock::time_point now = Clock::now();
  out->identity = identity_;
  out->time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  BoxReport sum;
  for (const Known& known : known_) {
    sum += known.report;
    expose::WorkerState& worker = out->workers.emplace_back();
    worker.alive = known.alive;
    worker.rounds = known.report.activity.rounds;
    worker.ran = known.report.activity.ran;
    worker.busy = known.report.activity.busy;
    worker.received_frames = known.report.counters[Counter::frames_host] + known.report.counters[Counter::frames_wan];
    worker.custody_bytes = known.report.custody_bytes;
    out->age = std::max(out->age, nanoseconds(now - known.at));
  }
  out->counters = sum.counters;
  out->pseudo_ack_delay = sum.pseudo_ack_delay;
  out->wan_rtt = sum.wan_rtt;
  out->custody_packets = sum.custody_packets;
  out->custody_bytes = sum.custody_bytes;
  out->waiting_frames = sum.waiting_frames;
  out->link = sum.link;
  out->bypass = sum.bypass;
  out->draining = sum.draining;
  for (const Side side : {Side::host, Side::wan}) out->ports[static_cast<std::size_t>(side)] = ports_(side);
  out->survey = surveyed_;
  if (surveyed_.made) out->survey_age = nanoseconds(now - surveyed_at_);
  return out;
}

void Gatherer::survey() {
  const Clock::time_point began = Clock::now();
  if (began < survey_due_) return;
  survey_due_ = began + kSurveyPeriod;
  survey_.begin(time_of(began));
  Duration most = 0;
  for (unsigned i = 0; i < workers_.count(); ++i) most = std::max(most, survey_worker(i));
  survey_.finish();
  // For a table of 65,536 connections a worker needs tens of milliseconds. Such a table is surveyed less often.
  const auto fair = std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(most) / kSurveyShare));
  survey_due_ = began + std::max<Clock::duration>(kSurveyPeriod, fair);
  const std::lock_guard lock(mutex_);
  surveyed_ = survey_.result();
  surveyed_at_ = Clock::now();
}

// Returns the time that the worker needed.
Duration Gatherer::survey_worker(unsigned worker) {
  constexpr std::uint32_t kLeast = 16;
  constexpr std::uint32_t kMost = 1024;
  Duration sum = 0;
  std::uint32_t slots = 1;
  for (std::uint32_t first = 0; first < slots;) {
    const auto portion = std::make_shared<Portion>();
    const std::uint32_t count = portion_slots_;
    portion->connections.reserve(count);
    workers_.order(
        worker,
        [portion, first, count](WorkerAccess& access) {
          const Clock::time_point began = Clock::now();
          portion->slots = access.engine.connection_slots();
          access.engine.describe(first, count, access.now, portion->connections);
          portion->took = nanoseconds(Clock::now() - began);
          return true;
        },
        kPatience);
    survey_.add(portion->connections);
    slots = portion->slots;
    first += count;
    sum += portion->took;
    if (portion->took > 2 * nanoseconds(kPortion))
      portion_slots_ = std::max(kLeast, count / 2);
    else if (2 * portion->took < nanoseconds(kPortion))
      portion_slots_ = std::min(kMost, count * 2);
  }
  return sum;
}

}  // namespace longhaul::app
