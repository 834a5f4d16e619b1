// SPDX-License-Identifier: BSD-3-Clause
// `longhaul run`: a box.
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/attendant.hpp"
#include "app/box_watch.hpp"
#include "app/command_guard.hpp"
#include "app/commands.hpp"
#include "app/control/control.hpp"
#include "app/memory_demand.hpp"
#include "app/memory_report.hpp"
#include "app/monitoring.hpp"
#include "app/port_checks.hpp"
#include "app/report.hpp"
#include "app/runtime.hpp"
#include "app/stop_signals.hpp"
#include "app/workers.hpp"
#include "box/share.hpp"
#include "config/box_config.hpp"
#include "drivers/record_file.hpp"
#include "wire/icrc_routine.hpp"

namespace longhaul::app {
namespace {

struct Options {
  std::string config;
  std::string stats;
  bool check = false;
  bool json = false;
};

void print_summary(const config::BoxConfig& config, Runtime& runtime, const Workers& workers, const StopRecord& stop) {
  fmt::print(
      "longhaul run: {}: stopped after {:.1f} s; custody at the signal: {} packets, {} bytes; left: {} packets, {} "
      "bytes\n",
      config.name, static_cast<double>(stop.ran) / 1e9, stop.at_stop_packets, stop.at_stop_bytes, stop.left_packets,
      stop.left_bytes);
  const std::vector<BoxReport> reports = workers.reports();
  fmt::print("{}{}{}{}", engine_table(total(reports)), reports.size() > 1 ? workers_table(reports) : "",
             port_table("host", runtime.first().stats()), port_table("wan", runtime.second().stats()));
  std::fflush(stdout);
}

/// Null when the configuration names none.
std::unique_ptr<drivers::RecordFile> open_record(const config::BoxConfig& config) {
  if (config.restart_record.empty()) {
    spdlog::warn("no restart_record: if this process is killed, what it acknowledged and did not deliver goes untold");
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
    spdlog::error("{}: {} connections have failed: an earlier process had acknowledged {} bytes and not delivered them",
                  path, flows, counters[Counter::failed_by_restart_bytes]);
  if (const std::uint64_t slots = counters[Counter::record_slots_damaged]; slots > 0)
    spdlog::error("{}: {} slots are damaged: what their connections lost cannot be told", path, slots);
}

int run(const Options& options) {
  const config::BoxConfig config = config::load_box(options.config);
  for (const config::PortConfig* port : {&config.host, &config.wan}) check_arguments(*port, config.process.workers());
  const drivers::EthdevSpec host{"host", config.host.pci, config.host.vdev};
  const drivers::EthdevSpec wan{"wan", config.wan.pci, config.wan.vdev};
  if (options.check) {
    const MemoryReport report = report_memory(config, host, wan);
    if (options.json)
      fmt::print("{}\n", report.json.dump(2));
    else
      fmt::print("longhaul run: {}: {} is valid\n{}", config.name, options.config, report.text);
    return 0;
  }
  wire::check_icrc_routine();
  spdlog::info("ICRC by {}", wire::icrc_routine_name());
  // Before anything slow, so that a signal during the start is not lost.
  Requests& requests = requests_by_signal();
  reload_by_signal();
  for (const config::PortConfig* port : {&config.host, &config.wan}) check_presence(*port);
  config::check_frames_arrive(config, expected_mtu(config.process, host, wan));
  const auto record = open_record(config);
  Runtime runtime(config.process, config.pools, host, wan, plan_box(config, config.pools).dpdk_bytes_of_tables());
  WorkersOptions worker_options;
  worker_options.box = {config.engine, config.spread_connections};
  worker_options.sleep_when_idle = config.process.sleep_when_idle;
  worker_options.drain = config.drain;
  std::vector<WorkerPorts> ports;
  for (unsigned i = 0; i < runtime.workers(); ++i)
    ports.push_back({runtime.first().queue(i), runtime.second().queue(i), runtime.pools(i), runtime.socket_of(i)});
  Workers workers(worker_options, ports, runtime.clock());

  if (record != nullptr) {
    workers.use_record(record->slots());
    tell_of_record(total(workers.reports()).counters, config.restart_record);
  }

  const Time started = runtime.clock().now();
  const auto statistics = [&](std::span<const BoxReport> reports, const StopRecord& stop) {
    Json json;
    json["name"] = config.name;
    json["icrc_routine"] = wire::icrc_routine_name();
    json["seconds"] = static_cast<double>(runtime.clock().now() - started) / 1e9;
    add_engine(json, total(reports));
    json["custody_at_stop_packets"] = stop.at_stop_packets;
    json["custody_at_stop_bytes"] = stop.at_stop_bytes;
    json["custody_left_packets"] = stop.left_packets;
    json["custody_left_bytes"] = stop.left_bytes;
    add_port(json, "host", runtime.first().stats());
    add_port(json, "wan", runtime.second().stats());
    if (reports.size() > 1)
      for (const BoxReport& report : reports) json["workers"].push_back(worker_part(report));
    return json;
  };

  Monitoring monitoring(config, LONGHAUL_VERSION, workers, runtime.first(), runtime.second());
  Control control(config, options.config, workers, runtime.first(), runtime.second(), requests);
  runtime.start_ports();
  BoxWatch watch(config, workers, runtime);
  ServiceNotifier service;
  // What waits for workers' answers must not delay who watches them.
  Attendant attendant("lh-attendant");
  Attendant watcher("lh-watcher");
  monitoring.join(attendant);
  control.box().on_change([&monitoring](const config::BoxConfig& now) { monitoring.reconfigured(now); });
  attendant.at_start([&control] { control.start(); });
  attendant.every(std::chrono::milliseconds(100), "reload", [&] {
    if (!requests.reload.load()) return;
    service.reloading();
    control.attend();
    service.ready("reloaded");
  });
  attendant.every(std::chrono::milliseconds(20), "statistics", [&] {
    if (!requests.report.exchange(false) || options.stats.empty()) return;
    const std::vector<BoxReport> reports = workers.ask_reports();
    const BoxReport sum = total(reports);
    StopRecord now;
    now.at_stop_packets = now.left_packets = sum.custody_packets;
    now.at_stop_bytes = now.left_bytes = sum.custody_bytes;
    write_atomically(options.stats, statistics(reports, now));
  });
  watch.attend_by(watcher, service, requests);
  attendant.start();
  watcher.start();
  // Scripts wait for this line, then use the control socket and rely on the watchdog.
  fmt::print("longhaul run: {}: ready, {}, {}policy {}{}\n", config.name, runtime.describe(),
             workers.count() == 1 ? "" : fmt::format("{} workers, ", workers.count()),
             flow::name_of(config.engine.policies.fallback), control.describe());
  std::fflush(stdout);
  service.ready(fmt::format("{}, policy {}", runtime.describe(), flow::name_of(config.engine.policies.fallback)));
  const StopRecord stop = workers.run(requests);
  service.stopping("drained", seconds(10));
  watcher.stop();
  attendant.stop();
  control.stop();
  // First what must not be missed: writing the rest may fail.
  const std::uint64_t lost = workers.unconfirmed_bytes();
  if (lost > 0)
    spdlog::error("stopped with {} bytes acknowledged to requesters and not delivered: their connections are broken",
                  lost);
  print_summary(config, runtime, workers, stop);
  if (!options.stats.empty()) write_atomically(options.stats, statistics(workers.reports(), stop));
  return lost > 0 ? 1 : 0;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "run a box: accelerate RoCEv2 between a host port and a WAN port");
  command->add_option("--config", options->config, "configuration of the box (YAML)")->required();
  command->add_option("--stats", options->stats,
                      "write what was counted to this file (JSON) at the end and at SIGUSR1");
  CLI::Option* check = command->add_flag("--check", options->check,
                                         "check the configuration, show what memory it needs, and do nothing else");
  command->add_flag("--json", options->json, "with --check: what memory it needs as JSON")->needs(check);
  command->callback([options, &exit_code] { exit_code = guarded("run", [&] { return run(*options); }); });
}

}  // namespace longhaul::app
