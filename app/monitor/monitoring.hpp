// SPDX-License-Identifier: BSD-3-Clause
// What a running box shows over HTTP: /metrics for Prometheus, / for people, /status.json, /healthz.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "app/monitor/gatherer.hpp"
#include "app/monitor/http_server.hpp"
#include "app/process/attendant.hpp"
#include "config/box_config.hpp"
#include "drivers/ethdev_port.hpp"
#include "expose/history.hpp"

namespace longhaul::app {

/// The monitoring of one box. It does nothing if the configuration has no `metrics`.
class Monitoring {
 public:
  static constexpr std::size_t kHistorySeconds = 600;

  /// All arguments must outlive it. `version` is longhaul's.
  Monitoring(const config::BoxConfig& config, const std::string& version, Workers& workers,
             const drivers::EthdevPort& host, const drivers::EthdevPort& wan);

  /// Call before the attendant starts: its thread takes the samples and starts the server. If the server cannot listen
  /// at the address, attendant.start() throws config::ConfigError.
  void join(Attendant& attendant);

  /// The box has taken over another configuration, and this shows it from now on. Any thread may call it.
  void reconfigured(const config::BoxConfig& config) { gatherer_.identify(identity_of(config, version_)); }

 private:
  /// A page's text, made again only for another snapshot.
  struct Rendered {
    std::shared_ptr<const expose::Snapshot> of;
    std::string text;
  };
  static expose::Identity identity_of(const config::BoxConfig& config, const std::string& version);
  void sample();
  std::string metrics();
  std::string status();
  std::string health();
  std::map<std::string, Page> pages();

  config::MetricsConfig config_;
  std::string version_;
  Gatherer gatherer_;
  std::mutex mutex_;  ///< guards the members below
  expose::History history_{kHistorySeconds};
  Rendered metrics_;
  Rendered status_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace longhaul::app
