// SPDX-License-Identifier: BSD-3-Clause
#include "app/monitor/monitoring.hpp"

#include <rte_version.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <stdexcept>

#include <fmt/format.h>

#include "expose/families.hpp"
#include "expose/status.hpp"
#include "expose/status_page.hpp"
#include "wire/icrc_routine.hpp"

namespace longhaul::app {
namespace {

expose::PortState state_of(const drivers::EthdevPort& port, const config::PortConfig& config) {
  const drivers::PortStats stats = port.stats();
  expose::PortState out;
  out.device = config.device().substr(0, config.device().find(','));
  out.link_up = port.link_up();
  out.received_frames = stats.ipackets;
  out.received_bytes = stats.ibytes;
  out.sent_frames = stats.opackets;
  out.sent_bytes = stats.obytes;
  out.missed = stats.imissed;
  out.receive_errors = stats.ierrors;
  out.send_errors = stats.oerrors;
  out.no_buffer = stats.rx_nombuf;
  out.oversize = stats.oversize;
  return out;
}

}  // namespace

expose::Identity Monitoring::identity_of(const config::BoxConfig& config, const std::string& version) {
  expose::Identity out;
  out.name = config.name;
  out.version = version;
  out.dpdk = rte_version();
  out.icrc = wire::icrc_routine_name();
  out.started = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  out.configuration = {{"policy", std::string(flow::name_of(config.engine.policies.fallback))},
                       {"confirm", config.engine.confirm == engine::Confirm::cm ? "cm" : "answer"},
                       {"spread", config.spread_connections ? "connections" : "pairs"},
                       {"idle", config.process.sleep_when_idle ? "sleep" : "poll"},
                       {"workers", std::to_string(config.process.workers())}};
  out.custody_limit_bytes = config.engine.custody_box_bytes;
  out.custody_flow_limit_bytes = config.engine.custody_flow_bytes;
  out.wan_rate_bps = config.engine.wan_rate_bps;
  out.connection_slots = config.engine.max_connections;
  return out;
}

Monitoring::Monitoring(const config::BoxConfig& config, const std::string& version, Workers& workers,
                       const drivers::EthdevPort& host, const drivers::EthdevPort& wan)
    : config_(config.metrics),
      version_(version),
      gatherer_(
          workers, identity_of(config, version),
          [&config, &host, &wan](Side side) {
            return side == Side::host ? state_of(host, config.host) : state_of(wan, config.wan);
          },
          config.metrics.host_pairs) {}

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
  // The survey comes before the sample, which shows its result.
  attendant.every(std::chrono::seconds(1), "survey of connections", [this] { gatherer_.survey(); });
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
  if (status_.of != snapshot) status_ = {snapshot, expose::status_json(*snapshot, history_)};
  return status_.text;
}

/// 200 as long as every worker's loop goes round. A load balancer or a probe needs no more.
std::string Monitoring::health() {
  const auto snapshot = gatherer_.snapshot();
  const std::string_view state = expose::state_of(*snapshot);
  if (state == "silent") throw std::runtime_error("a worker stands still");
  return std::string(state) + "\n";
}

std::map<std::string, Page> Monitoring::pages() {
  return {{"/metrics", {expose::kMetricsType, [this] { return metrics(); }}},
          {"/", {"text/html; charset=utf-8", [] { return std::string(expose::kStatusPage); }}},
          {"/status.json", {"application/json", [this] { return status(); }}},
          {"/healthz", {"text/plain; charset=utf-8", [this] { return health(); }}}};
}

}  // namespace longhaul::app
