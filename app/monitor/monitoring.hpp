// SPDX-License-Identifier: BSD-3-Clause
// What a running box shows over HTTP: /metrics for Prometheus, / for people, /status.json, /healthz.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "app/box/gatherer.hpp"
#include "app/monitor/http_server.hpp"
#include "app/process/attendant.hpp"
#include "config/metrics_config.hpp"
#include "expose/history.hpp"

namespace longhaul::app {

/// The monitoring of one box. It does nothing if the configuration has no `metrics`.
class Monitoring {
 public:
  static constexpr std::size_t kHistorySeconds = 600;

  /// `gatherer` must outlive it.
  Monitoring(const config::MetricsConfig& config, Gatherer& gatherer) : config_(config), gatherer_(gatherer) {}

  /// Call before the attendant starts: its thread takes the samples and starts the server. If the server cannot listen
  /// at the address, attendant.start() throws config::ConfigError.
  void join(Attendant& attendant);

 private:
  /// A page's text, made again only for another snapshot.
  struct Rendered {
    std::shared_ptr<const expose::Snapshot> of;
    std::string text;
  };
  void sample();
  std::string metrics();
  std::string status();
  std::string health();
  std::map<std::string, Page> pages();

  config::MetricsConfig config_;
  Gatherer& gatherer_;
  std::mutex mutex_;  ///< guards the members below
  expose::History history_{kHistorySeconds};
  Rendered metrics_;
  Rendered status_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace longhaul::app
