// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/box_watch.hpp"

#include <cstdlib>
#include <exception>
#include <vector>

#include <spdlog/spdlog.h>

namespace longhaul::app {

BoxWatch::BoxWatch(const config::BoxConfig& config, Workers& workers, Runtime& runtime)
    : config_(config),
      workers_(workers),
      runtime_(runtime),
      watch_(workers.count(), config.stall),
      pauses_(workers.count()),
      follow_(runtime.clock().now()) {
  if (config.link_loss == config::LinkLoss::forward)
    for (const Side side : kSides) port(side).set_link(true);
}

BoxWatch::~BoxWatch() {
  if (config_.link_loss != config::LinkLoss::forward) return;
  for (const Side side : kSides) try {
      port(side).set_link(false);
    } catch (const std::exception& error) {
      spdlog::error("{}", error.what());
    }
}

void BoxWatch::attend_by(Attendant& attendant, ServiceNotifier& service, const Requests& requests) {
  attendant.every(std::chrono::milliseconds(100), "watching workers", [this] {
    look_at_workers();
    look_at_pauses();
  });
  attendant.every(std::chrono::milliseconds(50), "watching links", [this] { look_at_links(); });
  if (const auto interval = service.watchdog_interval())
    attendant.every(std::chrono::milliseconds(*interval / milliseconds(2)), "the service manager's watchdog",
                    [this, &service] {
                      for (unsigned i = 0; i < workers_.count(); ++i)
                        if (watch_.stands_still(i)) return;
                      service.watchdog();
                    });
  attendant.every(std::chrono::milliseconds(50), "the end", [this, &service, &requests, said = false]() mutable {
    if (said || requests.stops.load() == 0) return;
    said = true;
    service.stopping("draining custody", config_.drain);
  });
}

void BoxWatch::look_at_workers() {
  std::vector<std::uint64_t> rounds;
  for (unsigned i = 0; i < workers_.count(); ++i) rounds.push_back(workers_.rounds(i));
  const auto milliseconds_of = [](Duration duration) { return duration / milliseconds(1); };
  for (const WorkerWatch::Event& event : watch_.look(rounds, runtime_.clock().now())) {
    if (!event.stands_still) {
      spdlog::warn("{}: worker {} runs again after standing still for {} ms", config_.name, event.worker,
                   milliseconds_of(event.since));
      continue;
    }
    spdlog::error("{}: worker {} has stood still for {} ms: its frames wait or are lost", config_.name, event.worker,
                  milliseconds_of(event.since));
    if (config_.on_stall == config::OnStall::exit) {
      spdlog::error("{}: the process ends at once, as watchdog.action demands", config_.name);
      spdlog::shutdown();
      // Wait for nothing and unwind nothing: the worker may hold any lock.
      std::_Exit(kStalled);
    }
  }
}

void BoxWatch::look_at_pauses() {
  std::vector<Pauses> pauses;
  for (unsigned i = 0; i < workers_.count(); ++i) pauses.push_back(workers_.pauses(i));
  const auto event = pauses_.look(pauses, runtime_.clock().now());
  if (!event) return;
  spdlog::warn(
      "{}: the box stood still {}for {} ms ({} of {} workers): timers do not count this time, and frames waited or "
      "were lost",
      config_.name, event->most.count == 1 ? "" : fmt::format("{} times, ", event->most.count),
      event->most.lasted / milliseconds(1), event->workers, workers_.count());
}

void BoxWatch::look_at_links() {
  BySide<bool> up;
  for (const Side side : kSides) {
    bool& was = was_up_[side];
    const bool is = up[side] = port(side).link_up();
    if (is != was && follow_.held() != side)
      spdlog::warn("{}: {}: the link is {}", config_.name, port(side).describe(), is ? "up" : "down");
    was = is;
  }
  if (config_.link_loss != config::LinkLoss::forward) return;
  const auto change = follow_.look(up[Side::host], up[Side::wan], runtime_.clock().now());
  if (!change) return;
  spdlog::warn("{}: {}: the link is set {} to follow the other port", config_.name, port(change->side).describe(),
               change->up ? "up" : "down");
  port(change->side).set_link(change->up);
  was_up_[change->side] = change->up;
}

}  // namespace longhaul::app
