// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/trial.hpp"

#include <fmt/format.h>
#include <rte_mempool.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kFrameBytes = 4352;    // path MTU 4096, all headers, two tags
constexpr std::uint32_t kSparePerLcore = 512;  // an lcore's cache of a pool
constexpr std::uint32_t kSpareSmall = 4096;
constexpr Duration kNoTimeout = seconds(3600);
constexpr std::uint64_t kUnlimited = 1ull << 40;

bool has_reads(const Workload& workload) {
  for (const Script& script : workload.scripts)
    for (const MessageKind& kind : script)
      if (kind.operation == wire::Operation::read_request) return true;
  return false;
}

double total(const Round& round, bool inside) {
  return std::accumulate(round.chunks.begin(), round.chunks.end(), 0.0, [&](double sum, const Round::Chunk& chunk) {
    return sum + static_cast<double>(inside ? chunk.busy.value() : chunk.outside);
  });
}

void expect_full(const rte_mempool* pool, std::vector<std::string>& errors) {
  const unsigned missing = rte_mempool_in_use_count(pool);
  if (missing != 0) errors.push_back(fmt::format("{} buffers of {} were lost", missing, pool->name));
}

}  // namespace

std::uint32_t most_in_custody(const Point& point, const TrialOptions& options) {
  // Several packets of each connection's unfinished message, and what a chunk adds.
  std::uint32_t longest = 1;
  for (const Script& script : point.workload->scripts)
    for (const MessageKind& kind : script) longest = std::max<std::uint32_t>(longest, kind.packets);
  return point.custody_packets + point.flows * longest + 2 * options.chunks.frames;
}

engine::PoolPlan pools_for(std::span<const Entrant> entrants, const TrialOptions& options) {
  engine::PoolPlan plan;
  plan.name = "linerate";
  plan.frame_bytes = kFrameBytes;
  // Each device may be another process with two lcores. One more lcore makes the frames.
  const auto lcores = static_cast<std::uint32_t>(1 + 2 * entrants.size());
  // Input and output of both ports. No more than needed, so that receive buffers come round again as with a NIC.
  plan.frames = 4 * options.chunks.frames + kSparePerLcore * lcores;
  // Generated frames on their way.
  plan.small_frames = kSpareSmall + kSparePerLcore * lcores;
  for (const Entrant& entrant : entrants) {
    if (!entrant.holds) continue;
    // Custody holds receive buffers, up to half of those it may have, and copies of READ requests.
    const std::uint32_t most = most_in_custody(entrant.point, options);
    plan.frames += most * 2 + entrant.besides;
    plan.small_frames += entrant.besides;
    if (has_reads(*entrant.point.workload)) plan.small_frames += most;
  }
  return plan;
}

engine::Settings settings_for(const Point& point, const engine::PoolPlan& plan, const TrialOptions& options) {
  engine::Settings settings;
  settings.estimate_wan_rate = false;  // the responder answers in bursts
  settings.cnp.send = false;           // the generator does not slow down
  settings.custody_box_bytes = settings.custody_flow_bytes = settings.initial_window_bytes = kUnlimited;
  settings.custody_mbufs = plan.frames;
  settings.max_connections = 2 * point.flows + 1;
  settings.rto_initial = settings.rto_min = settings.rto_max = kNoTimeout;
  settings.give_up = 24 * kNoTimeout;
  return settings;
}

Trial::Trial(std::span<const Entrant> entrants, const TrialOptions& options, RingPorts& ports,
             const drivers::Clock& clock) {
  const engine::PoolPlan plan = pools_for(entrants, options);
  pools_ = engine::Pools::create(plan);
  try {
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      const Point& point = entrants[i].point;
      const engine::Settings settings = settings_for(point, plan, options);
      devices_.push_back(
          entrants[i].make({point, options, ports, settings, pools_, clock, static_cast<unsigned>(i + 1)}));
      sessions_.push_back(
          std::make_unique<Session>(point, options.chunks, *devices_.back(), ports, pools_.frames, payloads_));
      turn(i, [](Session& session) { session.set_up(); });
    }
  } catch (...) {
    take_apart();
    throw;
  }
}

Trial::~Trial() { take_apart(); }

void Trial::turn(std::size_t i, const std::function<void(Session&)>& what) {
  devices_[i]->resume();
  what(*sessions_[i]);
  devices_[i]->pause();
}

std::vector<std::vector<std::string>> Trial::finish() {
  std::vector<std::vector<std::string>> errors;
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    turn(i, [](Session& session) { session.finish(); });
    errors.push_back(sessions_[i]->errors().list());
  }
  sessions_.clear();
  devices_.clear();
  for (const rte_mempool* pool : {pools_.frames, pools_.small[0], pools_.small[1], pools_.made})
    expect_full(pool, errors.back());
  take_apart();
  return errors;
}

void Trial::take_apart() {
  sessions_.clear();
  devices_.clear();
  pools_.destroy();
}

std::vector<DeviceResult> run_trial(std::span<const Entrant> entrants, const TrialOptions& options, RingPorts& ports,
                                    const drivers::Clock& clock) {
  Trial trial(entrants, options, ports, clock);
  std::vector<DeviceResult> results;
  for (std::size_t i = 0; i < entrants.size(); ++i) results.push_back({trial.device(i).name(), {}, {}});
  for (unsigned round = 0; round < options.rounds; ++round)
    for (std::size_t i = 0; i < entrants.size(); ++i)
      trial.turn(i, [&](Session& session) {
        const std::uint64_t least = 2 * std::uint64_t{entrants[i].point.flows};
        results[i].rounds.push_back(session.measure(std::max(options.packets, least)));
      });
  auto errors = trial.finish();
  for (std::size_t i = 0; i < entrants.size(); ++i) results[i].errors = std::move(errors[i]);
  return results;
}

double cycles_per_packet(const Round& round, bool inside) {
  const auto spoilt = [inside](const Round::Chunk& chunk) { return chunk.preempted || (!inside && chunk.unseen); };
  const bool all = std::all_of(round.chunks.begin(), round.chunks.end(), spoilt);
  std::vector<double> values;
  for (const Round::Chunk& chunk : round.chunks)
    if (all || !spoilt(chunk))
      values.push_back(static_cast<double>(inside ? chunk.busy.value() : chunk.outside) /
                       static_cast<double>(chunk.packets));
  return median(std::move(values));
}

double mean_cycles_per_packet(const Round& round, bool inside) {
  double packets = 0;
  for (const Round::Chunk& chunk : round.chunks) packets += static_cast<double>(chunk.packets);
  return total(round, inside) / packets;
}

double undisturbed_mean_cycles_per_packet(const Round& round, bool inside) {
  Round undisturbed;
  for (const Round::Chunk& chunk : round.chunks)
    if (!chunk.preempted && (inside || !chunk.unseen)) undisturbed.chunks.push_back(chunk);
  return mean_cycles_per_packet(undisturbed.chunks.empty() ? round : undisturbed, inside);
}

bool has_busy(const DeviceResult& result) {
  return !result.rounds.empty() && !result.rounds.front().chunks.empty() &&
         result.rounds.front().chunks.front().busy.has_value();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace longhaul::bench
