// SPDX-License-Identifier: BSD-3-Clause
// `longhaul link`: the emulated long haul between two ports.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/command/guard.hpp"
#include "app/command/subcommands.hpp"
#include "app/link/link_loop.hpp"
#include "app/link/link_report.hpp"
#include "app/process/log_choice.hpp"
#include "app/process/port_checks.hpp"
#include "app/process/runtime.hpp"
#include "app/process/stop_signals.hpp"
#include "config/link_config.hpp"
#include "expose/port_report.hpp"
#include "link/direction.hpp"

namespace longhaul::app {
namespace {

// Buffers for the ports' rings and bursts. The rest may be under way.
constexpr std::uint32_t kFramesOfPorts = 4096 + 512;

struct Options {
  std::string config;
  std::string stats;
  bool check = false;
};

std::string describe(const link::DirectionSettings& direction) {
  std::string out = fmt::format("{} ms", static_cast<double>(direction.delay) / 1e6);
  if (direction.rate_bps != 0) out += fmt::format(", {} Gbit/s", static_cast<double>(direction.rate_bps) / 1e9);
  if (direction.loss > 0) out += fmt::format(", loss {}%", direction.loss * 100);
  return out;
}

int run(const Options& options) {
  const config::LinkConfig config = config::load_link(options.config);
  check_arguments(config.a, config.b);
  if (options.check) {
    fmt::print("longhaul link: {}: {} is valid\n", config.name, options.config);
    return 0;
  }
  choose_log(config.process, config.name);
  Requests& requests = requests_by_signal();
  for (const config::PortConfig* port : {&config.a, &config.b}) check_presence(*port);
  engine::PoolPlan plan;
  plan.name = "link";
  plan.frames = config.frames;
  plan.small_frames = 1024;  // the link makes no frames, but a pool cannot be empty
  Runtime runtime(config.process, plan, {"a", config.a.pci, config.a.vdev, config.a.devargs},
                  {"b", config.b.pci, config.b.vdev, config.b.devargs});

  // Each direction has a share of its own. Otherwise a full direction would starve the other of buffers.
  const std::size_t share = (config.frames - kFramesOfPorts) / 2;
  link::Direction a_to_b(config.link, link::Way::a_to_b, share);
  link::Direction b_to_a(config.link, link::Way::b_to_a, share);

  const Time started = runtime.clock().now();
  const auto statistics = [&] {
    Json json;
    json["name"] = config.name;
    json["seconds"] = static_cast<double>(runtime.clock().now() - started) / 1e9;
    add_link_counters(json, "a_to_b", a_to_b.counters());
    json["a_to_b_held"] = a_to_b.held();
    add_link_counters(json, "b_to_a", b_to_a.counters());
    json["b_to_a_held"] = b_to_a.held();
    expose::add_port_figures(json, "port_a_", runtime.first().stats());
    expose::add_port_figures(json, "port_b_", runtime.second().stats());
    return json;
  };

  LinkLoopOptions loop_options;
  loop_options.sleep_when_idle = config.process.sleep_when_idle;
  loop_options.on_report = [&] {
    if (options.stats.empty()) return;
    try {
      write_atomically(options.stats, statistics());
    } catch (const std::exception& error) {
      spdlog::error("{}", error.what());
    }
  };

  runtime.start_ports();
  fmt::print("longhaul link: {}: ready, {}, a to b {}, b to a {}\n", config.name, runtime.describe(),
             describe(config.link.directions[0]), describe(config.link.directions[1]));
  std::fflush(stdout);

  const Duration ran =
      run_link(a_to_b, b_to_a, runtime.first(), runtime.second(), runtime.clock(), loop_options, requests);
  fmt::print("longhaul link: {}: stopped after {:.1f} s\n{}{}{}{}", config.name, static_cast<double>(ran) / 1e9,
             link_table("a_to_b", a_to_b.counters()), link_table("b_to_a", b_to_a.counters()),
             expose::port_table("port_a_", runtime.first().stats()),
             expose::port_table("port_b_", runtime.second().stats()));
  std::fflush(stdout);
  if (!options.stats.empty()) write_atomically(options.stats, statistics());
  return 0;
}

}  // namespace

void add_link(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("link", "emulate a long link between two ports: delay, rate, loss, scripted events");
  command->add_option("--config", options->config, "configuration of the link (YAML)")->required()->type_name("FILE");
  command->add_option("--stats", options->stats, "write the counters to this file (JSON) at the end and on SIGUSR1")
      ->type_name("FILE");
  command->add_flag("--check", options->check, "check the configuration and exit");
  command->callback([options, &exit_code] { exit_code = guarded("link", [&] { return run(*options); }); });
}

}  // namespace longhaul::app
