// SPDX-License-Identifier: BSD-3-Clause
#include "app/monitor/monitoring.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <stdexcept>

#include <fmt/format.h>

#include "expose/families.hpp"
#include "expose/status.hpp"
#include "expose/status_page.hpp"

namespace longhaul::app {

void Monitoring::join(Attendant& attendant) {
  if (config_.listen.empty()) return;
  attendant.at_start([this] {
    try {
      server_ = std::make_unique<HttpServer>(config_.listen, pages());
    } catch (const std::runtime_error& error) {
      throw config::ConfigError(fmt::format("{}: {}", config_.position, error.what()));
    }
    spdlog::info("metrics and status page: http://{}/", config_.listen);
  });
  attendant.every(std::chrono::seconds(1), "status page", [this] { sample(); });
  attendant.every(std::chrono::seconds(1), "http", [this] { server_->cut_off_slow(); });
  attendant.at_end([this] { server_.reset(); });
}

void Monitoring::sample() {
  const auto snapshot = gatherer_.snapshot();
  const std::lock_guard lock(mutex_);
  history_.add(*snapshot, static_cast<Time>(std::chrono::steady_clock::now().time_since_epoch().count()));
  status_.of = nullptr;
}

std::string Monitoring::metrics() {
  const auto snapshot = gatherer_.snapshot();
  const std::lock_guard lock(mutex_);
  if (metrics_.of != snapshot) metrics_ = {snapshot, expose::metrics_text(*snapshot)};
  return metrics_.text;
}

std::string Monitoring::status() {
  const auto snapshot = gatherer_.snapshot();
  const std::lock_guard lock(mutex_);
  if (status_.of != snapshot) status_ = {snapshot, expose::status_page_json(*snapshot, history_)};
  return status_.text;
}

/// 200 as long as every worker's loop goes round. A load balancer or a probe needs no more.
std::string Monitoring::health() {
  const auto snapshot = gatherer_.snapshot();
  const expose::State state = snapshot->state();
  if (state == expose::State::silent) throw std::runtime_error("a worker stands still");
  return std::string(name_of(state)) + "\n";
}

std::map<std::string, Page> Monitoring::pages() {
  return {{"/metrics", {expose::kMetricsType, [this] { return metrics(); }}},
          {"/", {"text/html; charset=utf-8", [] { return std::string(expose::kStatusPage); }}},
          {"/status.json", {"application/json", [this] { return status(); }}},
          {"/healthz", {"text/plain; charset=utf-8", [this] { return health(); }}}};
}

}  // namespace longhaul::app
