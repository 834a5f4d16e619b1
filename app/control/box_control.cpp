// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/box_control.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "app/box/shown_identity.hpp"
#include "app/protocol/reply.hpp"
#include "box/peer_desk.hpp"

namespace longhaul::app {
namespace {

// Connections that an order looks at, or changes, between two rounds of frames. This takes some tens of microseconds.
constexpr std::uint32_t kLookedAt = 256;
constexpr std::uint32_t kForgotten = 32;
// Enough for a table of a million connections and a worker that sleeps between rounds.
constexpr std::chrono::seconds kWalkPatience{20};

/// An order that calls `work(access, first)` for portions of a worker's slots, one between two rounds.
template <typename Work>
Order portions(std::uint32_t size, Work work) {
  return [size, work = std::move(work), next = std::uint32_t{0}](WorkerAccess& access) mutable {
    const std::uint32_t slots = access.engine.connection_slots();
    if (next < slots) work(access, next);
    next += std::min(size, slots - next);
    return next >= slots;
  };
}

/// The keys of the configuration that are policies.
std::string policy_in_words(const config::BoxConfig& config) {
  std::vector<std::string> words;
  for (const config::BoxKey& key : config::box_keys())
    if (key.name.starts_with("policy.")) words.push_back(fmt::format("{}: {}", key.name, key.show(config)));
  return fmt::format("{}", fmt::join(words, ", "));
}

template <typename T>
using ByWorker = std::shared_ptr<std::vector<T>>;

template <typename T>
ByWorker<T> by_worker(const Workers& workers) {
  return std::make_shared<std::vector<T>>(workers.count());
}

}  // namespace

BoxControl::BoxControl(Workers& workers, Gatherer& gatherer, const config::BoxConfig& config, std::string file,
                       const Requests& requests)
    : workers_(workers),
      gatherer_(gatherer),
      file_(std::move(file)),
      requests_(requests),
      config_(config),
      capture_(workers) {}

config::BoxConfig BoxControl::config() const {
  const std::lock_guard lock(config_mutex_);
  return config_;
}

void BoxControl::must_not_stop() const {
  if (stopping()) throw CommandError("the box is stopping and drains: nothing can be changed any more");
}

// ---- asking -----------------------------------------------------------------------------------

Custody BoxControl::custody() const {
  const auto parts = by_worker<Custody>(workers_);
  workers_.order_all([&parts](unsigned worker) -> Order {
    return [parts, worker](WorkerAccess& access) {
      (*parts)[worker] = {access.engine.custody_packets(), access.engine.custody_bytes()};
      return true;
    };
  });
  Custody sum;
  for (const Custody& part : *parts) {
    sum.packets += part.packets;
    sum.bytes += part.bytes;
  }
  return sum;
}

// ---- policy and configuration -----------------------------------------------------------------

std::uint64_t BoxControl::apply(const config::BoxConfig& config) {
  const auto settings = std::make_shared<const engine::Settings>(workers_.wiring().share_of(config.engine));
  workers_.order_all([&settings, &config](unsigned) -> Order {
    return [settings, drain = config.drain](WorkerAccess& access) {
      access.worker.reconfigure(*settings);
      access.drain = drain;
      return true;
    };
  });
  if (config.peers) {
    const auto peers = std::make_shared<const std::vector<peer::PeerSettings>>(config.peers->settings.peers);
    workers_.order(0, [peers](WorkerAccess& access) {
      access.worker.desk()->set_peers(*peers);
      return true;
    });
  }
  const auto changed = by_worker<std::uint64_t>(workers_);
  workers_.order_all(
      [&changed](unsigned worker) {
        return portions(kLookedAt, [changed, worker](WorkerAccess& access, std::uint32_t first) {
          (*changed)[worker] += access.engine.apply_policies(first, kLookedAt);
        });
      },
      kWalkPatience);
  {
    const std::lock_guard lock(config_mutex_);
    config_ = config;
  }
  gatherer_.identify(identity_of(config, LONGHAUL_VERSION));
  gatherer_.flows_changed();
  std::uint64_t sum = 0;
  for (const std::uint64_t part : *changed) sum += part;
  return sum;
}

std::pair<flow::PolicyTable, std::uint64_t> BoxControl::change_policies(
    const std::function<void(flow::PolicyTable&)>& change) {
  const std::lock_guard lock(change_);
  config::BoxConfig changed = config();
  change(changed.engine.policies);
  const std::uint64_t connections = apply(changed);
  spdlog::info("policy is now {}", policy_in_words(changed));
  return {changed.engine.policies, connections};
}

std::vector<config::KeyChange> BoxControl::compare(const config::BoxConfig& with) const {
  return config::changes(config(), with);
}

Reloaded BoxControl::reload() {
  const std::lock_guard lock(change_);
  const config::BoxConfig changed = config::load_box(file_);
  Reloaded out;
  out.changes = compare(changed);
  std::vector<std::string> refused;
  for (const config::KeyChange& change : out.changes)
    if (!change.live)
      refused.push_back(fmt::format("{} (now {}, in the file {})", change.key, change.before, change.after));
  if (!refused.empty())
    throw CommandError(
        fmt::format("{}: nothing was changed, because these keys need a restart: {}", file_, fmt::join(refused, "; ")));
  if (!out.changes.empty()) out.connections = apply(changed);
  for (const config::KeyChange& change : out.changes)
    spdlog::info("{}: {} is now {}, was {}", file_, change.key, change.after, change.before);
  return out;
}

// ---- drain and bypass -------------------------------------------------------------------------

void BoxControl::set_draining(bool draining) {
  workers_.order_all([draining](unsigned) -> Order {
    return [draining](WorkerAccess& access) {
      access.engine.set_draining(draining);
      return true;
    };
  });
}

void BoxControl::drain() {
  const std::lock_guard lock(change_);
  if (mode() == State::bypass)
    throw CommandError("bypass is on, so there is nothing to drain (`bypass off` ends bypass)");
  if (mode_.exchange(State::draining) != State::draining) spdlog::warn("draining: the box acknowledges nothing new");
  set_draining(true);
}

void BoxControl::resume() {
  const std::lock_guard lock(change_);
  must_not_stop();
  if (mode() == State::bypass) throw CommandError("bypass is on; `bypass off` ends it");
  set_draining(false);
  if (mode_.exchange(State::running) != State::running) spdlog::warn("running again after a drain");
}

// Has all workers do `work` to portions of their connections. Returns what that cost.
template <typename Work>
Forgotten BoxControl::let_go(Work work) {
  const auto parts = by_worker<Forgotten>(workers_);
  workers_.order_all(
      [&](unsigned worker) {
        return portions(kForgotten, [parts, worker, work](WorkerAccess& access, std::uint32_t first) {
          const Counters& counters = access.engine.counters();
          const Counters before = counters;
          work(access, first);
          Forgotten& part = (*parts)[worker];
          part.connections += counters[Counter::connections_closed] - before[Counter::connections_closed];
          part.failed_flows += counters[Counter::flows_failed] - before[Counter::flows_failed];
          part.failed_bytes += counters[Counter::failed_bytes] - before[Counter::failed_bytes];
        });
      },
      kWalkPatience);
  Forgotten sum;
  for (const Forgotten& part : *parts) sum += part;
  return sum;
}

Forgotten BoxControl::bypass(std::string_view why) {
  // A requester that is at work sends its next request within this time, and gets the fatal NAK. Afterwards the box has
  // forgotten the connection, and some requesters would forever repeat what the responder cannot place.
  constexpr std::chrono::seconds kToldWithin{1};
  const std::lock_guard lock(change_);
  must_not_stop();
  set_draining(true);
  const auto reason = std::make_shared<const std::string>(why);
  Forgotten sum = let_go([reason](WorkerAccess& access, std::uint32_t first) {
    access.engine.fail(first, kForgotten, *reason, access.now);
  });
  if (sum.failed_flows > 0) std::this_thread::sleep_for(kToldWithin);
  // First stop new connections, then forget those that are there.
  workers_.order_all([](unsigned) -> Order {
    return [](WorkerAccess& access) {
      access.engine.set_bypass(true, access.now);
      return true;
    };
  });
  mode_.store(State::bypass);
  sum += let_go([reason](WorkerAccess& access, std::uint32_t first) {
    access.engine.forget(first, kForgotten, *reason, access.now);
  });
  gatherer_.flows_changed();
  spdlog::warn("bypass: everything is forwarded untouched; {} connections forgotten, {} of them failed with {} bytes",
               sum.connections, sum.failed_flows, sum.failed_bytes);
  return sum;
}

void BoxControl::end_bypass() {
  const std::lock_guard lock(change_);
  must_not_stop();
  if (mode() != State::bypass) throw CommandError("bypass is not on");
  workers_.order_all([](unsigned) -> Order {
    return [](WorkerAccess& access) {
      access.engine.set_bypass(false, access.now);
      access.engine.set_draining(false);
      return true;
    };
  });
  mode_.store(State::running);
  spdlog::warn("running again after bypass");
}

}  // namespace longhaul::app
