// SPDX-License-Identifier: BSD-3-Clause
// `longhaul run`: a box.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/box/box_watch.hpp"
#include "app/box/gatherer.hpp"
#include "app/box/memory_report.hpp"
#include "app/box/peer_log.hpp"
#include "app/box/shown_identity.hpp"
#include "app/box/workers.hpp"
#include "app/command/guard.hpp"
#include "app/command/subcommands.hpp"
#include "app/control/control.hpp"
#include "app/monitor/monitoring.hpp"
#include "app/process/attendant.hpp"
#include "app/process/log_choice.hpp"
#include "app/process/memory_demand.hpp"
#include "app/process/port_checks.hpp"
#include "app/process/runtime.hpp"
#include "app/process/stop_signals.hpp"
#include "box/share.hpp"
#include "config/box_config.hpp"
#include "drivers/record_file.hpp"
#include "expose/statistics.hpp"
#include "wire/icrc_routine.hpp"

namespace longhaul::app {
namespace {

struct Options {
  std::string config;
  std::string stats;
  bool check = false;
  bool json = false;
};

void print_summary(const expose::Snapshot& its, const StopRecord& stop) {
  fmt::print(
      "longhaul run: {}: stopped after {:.1f} s; custody at the signal: {} packets, {} bytes; at the end: {} packets, "
      "{} bytes\n{}",
      its.identity.name, static_cast<double>(stop.ran) / 1e9, stop.at_stop_packets, stop.at_stop_bytes,
      stop.left_packets, stop.left_bytes, expose::statistics_text(its));
  std::fflush(stdout);
}

/// Null when the configuration names none.
std::unique_ptr<drivers::RecordFile> open_record(const config::BoxConfig& config) {
  if (config.restart_record.empty()) {
    spdlog::warn(
        "no restart_record: if this process is killed, the loss of acknowledged but undelivered data goes unreported");
    return nullptr;
  }
  try {
    return std::make_unique<drivers::RecordFile>(config.restart_record,
                                                 box::record_slots(config.engine, config.process.workers()));
  } catch (const std::runtime_error& error) {
    throw config::ConfigError(fmt::format("{}: {}", config.restart_record_position, error.what()));
  }
}

void tell_of_record(const Counters& counters, const std::string& path) {
  if (const std::uint64_t flows = counters[Counter::flows_failed_by_restart]; flows > 0)
    spdlog::error("{}: {} connections have failed: an earlier process had acknowledged {} bytes but not delivered them",
                  path, flows, counters[Counter::failed_by_restart_bytes]);
  if (const std::uint64_t slots = counters[Counter::record_slots_damaged]; slots > 0)
    spdlog::error("{}: {} slots are damaged: what their connections lost is unknown", path, slots);
}

drivers::EthdevSpec spec_of(const char* name, const config::PortConfig& port) {
  return {name, port.pci, port.vdev, port.devargs};
}

int check(const config::BoxConfig& config, const Options& options) {
  MemoryReport report = report_memory(config, spec_of("host", config.host), spec_of("wan", config.wan));
  const std::vector<std::string> warnings = roce_warnings(config.host, config.wan);
  report.json["warnings"] = warnings;
  if (options.json)
    fmt::print("{}\n", report.json.dump(2));
  else
    fmt::print("longhaul run: {}: {} is valid\n{}", config.name, options.config, report.text);
  for (const std::string& warning : warnings) fmt::print(stderr, "longhaul run: warning: {}\n", warning);
  return 0;
}

/// Checks what the machine must have before the box takes anything from it. Throws config::ConfigError.
void check_machine(const config::BoxConfig& config) {
  for (const config::PortConfig* port : {&config.host, &config.wan}) check_presence(*port);
  for (const std::string& warning : roce_warnings(config.host, config.wan)) spdlog::warn("{}", warning);
  config::check_frames_arrive(config,
                              expected_mtu(config.process, spec_of("host", config.host), spec_of("wan", config.wan)));
}

WorkersOptions options_of(const config::BoxConfig& config, const drivers::EthdevPort& wan) {
  WorkersOptions options;
  options.box = {config.engine, config.spread_connections};
  if (config.peers) options.box.peers = {config.peers->settings, wan.mac()};
  options.sleep_when_idle = config.process.sleep_when_idle;
  options.drain = config.drain;
  return options;
}

std::vector<WorkerPorts> ports_of(Runtime& runtime) {
  std::vector<WorkerPorts> ports;
  for (unsigned i = 0; i < runtime.workers(); ++i)
    ports.push_back({runtime.first().queue(i), runtime.second().queue(i), runtime.pools(i), runtime.socket_of(i)});
  return ports;
}

/// A box from its start to its end. The constructor starts it, attend() starts the threads beside its workers, run() is
/// worker 0, finish() reports the result.
class Run {
 public:
  Run(const Options& options, const config::BoxConfig& config, Requests& requests);

  void attend();
  StopRecord run();
  int finish(const StopRecord& stop);

 private:
  void use_record();
  void write_statistics_when_asked();
  void write_statistics(const expose::Snapshot& its, const StopRecord& stop) const;

  const Options& options_;
  const config::BoxConfig config_;
  Requests& requests_;
  std::unique_ptr<drivers::RecordFile> record_;
  Runtime runtime_;
  Workers workers_;
  Gatherer gatherer_;
  Monitoring monitoring_;
  Control control_;
  ServiceNotifier service_;
  PeerLog peer_log_;
  std::optional<BoxWatch> watch_;  ///< once the ports have started
  // The attendant waits for workers' answers. That must not delay the watchdog.
  Attendant attendant_{"lh-attendant"};
  Attendant watcher_{"lh-watcher"};
};

Run::Run(const Options& options, const config::BoxConfig& config, Requests& requests)
    : options_(options),
      config_(config),
      requests_(requests),
      record_(open_record(config_)),
      runtime_(config_.process, config_.pools, spec_of("host", config_.host), spec_of("wan", config_.wan),
               plan_box(config_, config_.pools).dpdk_bytes_of_tables()),
      workers_(options_of(config_, runtime_.second()), ports_of(runtime_), runtime_.clock()),
      gatherer_(
          workers_, requests_, identity_of(config_, LONGHAUL_VERSION),
          [this](Side side) { return state_of(side == Side::host ? runtime_.first() : runtime_.second()); },
          config_.metrics.host_pairs),
      monitoring_(config_.metrics, gatherer_),
      control_(config_, options_.config, workers_, gatherer_, requests_) {
  if (record_ != nullptr) use_record();
  runtime_.start_ports();
  watch_.emplace(config_, workers_, runtime_);
}

void Run::use_record() {
  workers_.use_record(record_->slots());
  Counters counters;
  for (const expose::WorkerReport& report : workers_.reports()) counters += report.counters;
  tell_of_record(counters, config_.restart_record);
}

void Run::write_statistics(const expose::Snapshot& its, const StopRecord& stop) const {
  if (options_.stats.empty()) return;
  Json json = expose::statistics_json(its);
  json["seconds"] = in_seconds(its.uptime);
  json["custody_at_stop_packets"] = stop.at_stop_packets;
  json["custody_at_stop_bytes"] = stop.at_stop_bytes;
  json["custody_left_packets"] = stop.left_packets;
  json["custody_left_bytes"] = stop.left_bytes;
  write_atomically(options_.stats, json);
}

void Run::write_statistics_when_asked() {
  if (!requests_.report.exchange(false) || options_.stats.empty()) return;
  const expose::Snapshot its = gatherer_.now();
  StopRecord now;
  now.at_stop_packets = now.left_packets = its.total.custody_packets;
  now.at_stop_bytes = now.left_bytes = its.total.custody_bytes;
  write_statistics(its, now);
}

void Run::attend() {
  // Before the status page's sample, which shows its result.
  if (!config_.metrics.listen.empty() || !config_.control.socket.empty())
    attendant_.every(std::chrono::seconds(1), "survey of connections", [this] {
      try {
        gatherer_.survey();
      } catch (const WorkerSilent& silent) {
        // If the worker stands still, the watcher says so.
        throw Postponed(
            fmt::format("a worker ({}); until then `ctl pairs`, /metrics and the status page show what the "
                        "last survey saw",
                        silent.what()));
      }
    });
  if (config_.peers)
    attendant_.every(std::chrono::seconds(1), "watching peers", [this] {
      if (const auto its = gatherer_.snapshot(); its->total.peers) peer_log_.look(config_.name, *its->total.peers);
    });
  monitoring_.join(attendant_);
  attendant_.at_start([this] { control_.start(); });
  attendant_.every(std::chrono::milliseconds(100), "reload", [this] {
    if (!requests_.reload.load()) return;
    service_.reloading();
    control_.attend();
    service_.ready("reloaded");
  });
  attendant_.every(std::chrono::milliseconds(20), "statistics", [this] { write_statistics_when_asked(); });
  watch_->attend_by(watcher_, service_, requests_);
  attendant_.start();
  watcher_.start();
}

StopRecord Run::run() {
  const std::string_view policy = name_of(config_.engine.policies.fallback);
  // Scripts wait for this line. Then they use the control socket and rely on the watchdog.
  fmt::print("longhaul run: {}: ready, {}, {}policy {}{}\n", config_.name, runtime_.describe(),
             workers_.count() == 1 ? "" : fmt::format("{} workers, ", workers_.count()), policy, control_.describe());
  std::fflush(stdout);
  service_.ready(fmt::format("{}, policy {}", runtime_.describe(), policy));
  return workers_.run(requests_);
}

int Run::finish(const StopRecord& stop) {
  service_.stopping("drained", seconds(10));
  watcher_.stop();
  attendant_.stop();
  control_.stop();
  // First what must not be missed: writing the rest may fail.
  const std::uint64_t lost = workers_.unconfirmed_bytes();
  if (lost > 0)
    spdlog::error("stopped with {} bytes acknowledged to requesters but not delivered: their connections are broken",
                  lost);
  const expose::Snapshot its = gatherer_.at_end();
  print_summary(its, stop);
  write_statistics(its, stop);
  return lost > 0 ? 1 : 0;
}

int run(const Options& options) {
  const config::BoxConfig config = config::load_box(options.config);
  check_arguments(config.host, config.wan, config.process.workers());
  if (options.check) return check(config, options);
  choose_log(config.process, config.name);
  wire::check_icrcs();
  spdlog::info("ICRC by {}", wire::icrc_routine().name);
  // Before anything slow, so that no signal during the start is lost.
  Requests& requests = requests_by_signal();
  reload_by_signal();
  check_machine(config);
  Run box(options, config, requests);
  box.attend();
  return box.finish(box.run());
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "run a box: accelerate RoCEv2 between a host port and a WAN port");
  command->add_option("--config", options->config, "configuration of the box (YAML)")->required()->type_name("FILE");
  command->add_option("--stats", options->stats, "write the counters to this file (JSON) at the end and on SIGUSR1")
      ->type_name("FILE");
  CLI::Option* check =
      command->add_flag("--check", options->check, "check the configuration, show the memory it needs, and exit");
  command->add_flag("--json", options->json, "with --check: show the memory as JSON")->needs(check);
  command->callback([options, &exit_code] { exit_code = guarded("run", [&] { return run(*options); }); });
}

}  // namespace longhaul::app
