// SPDX-License-Identifier: BSD-3-Clause
// How many packets a second the box passes on one core, beside what the least that any box must do costs, and testpmd,
// on the same ports and frames.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "drivers/eal.hpp"
#include "test/bench/core_distance.hpp"
#include "test/bench/devices.hpp"
#include "test/bench/linerate_report.hpp"
#include "test/bench/testpmd.hpp"
#include "test/bench/trial.hpp"

namespace {

using namespace longhaul;
using namespace longhaul::bench;

constexpr std::uint32_t kPortIn = 1024;  // what a NIC's receive queue has
constexpr std::uint32_t kPortOut = 4096;
constexpr std::uint64_t kMemoryBesidesPools = 768ull << 20;  // tables of 2^17 connections, DPDK itself

struct Options {
  std::vector<std::string> workloads;
  std::vector<std::uint32_t> flows;
  std::vector<double> custody_ms;
  std::vector<std::string> devices = {"box", "floor", "macswap"};
  TrialOptions trial;
  std::vector<unsigned> cores = {0, 1};
  bool hugepages = false;
  std::string huge_dir;
  std::string json;
  std::string testpmd_log = "/tmp/linerate-testpmd.log";
  bool list = false;
  bool memory = false;
};

std::vector<Point> points_of(const Options& options) {
  if (options.workloads.empty() && options.flows.empty() && options.custody_ms.empty()) return default_points();
  std::vector<Point> points;
  std::vector<const Workload*> chosen;
  for (const std::string& name : options.workloads) chosen.push_back(&workload(name));
  if (chosen.empty())
    for (const Workload& row : workloads()) chosen.push_back(&row);
  for (const Workload* row : chosen)
    for (const std::uint32_t flows : options.flows.empty() ? std::vector<std::uint32_t>{64} : options.flows)
      for (const double ms : options.custody_ms.empty() ? std::vector<double>{1} : options.custody_ms)
        points.push_back({row, flows, row->scripts.empty() ? 0 : ms});
  return points;
}

void list() {
  fmt::print("Workloads\n");
  for (const Workload& row : workloads()) fmt::print("  {:<12} {}\n", row.name, row.what);
  fmt::print("\nMeasured by default: workload, connections, custody\n");
  for (const Point& point : default_points())
    fmt::print("  {:<12} {:>6} {:>3} ms = {} packets\n", point.workload->name, point.flows, point.custody_ms,
               point.custody_packets());
}

std::uint64_t memory_for(const std::vector<Point>& points, const TrialOptions& options) {
  std::uint64_t most = 0;
  for (const Point& point : points) most = std::max(most, engine::Pools::bytes_needed(pools_for(point, options)));
  return most + kMemoryBesidesPools;
}

DeviceMaker maker_of(const std::string& name, const Options& options, const std::string& shared_as) {
  const bool share = options.cores[0] == options.cores[1];
  if (name == "box")
    return [share](const Bench& b) {
      return std::make_unique<BoxDevice>(b.ports, b.lcore, share, b.settings, b.pools, b.clock);
    };
  if (name == "floor")
    return [share](const Bench& b) { return std::make_unique<FloorDevice>(b.ports, b.lcore, share); };
  const bool swaps = name.ends_with("macswap");
  const MacDevice::Mode mode = swaps ? MacDevice::Mode::swap : MacDevice::Mode::set;
  if (name == "macswap" || name == "mac")
    return [share, mode](const Bench& b) { return std::make_unique<MacDevice>(b.ports, b.lcore, share, mode); };
  const TestpmdOptions testpmd{shared_as, options.huge_dir, options.cores[1], options.cores[0], options.testpmd_log};
  return [testpmd, mode](const Bench& b) { return std::make_unique<Testpmd>(b.ports, testpmd, mode); };
}

int measure(const Options& options) {
  const std::vector<Point> points = points_of(options);
  const bool with_testpmd = std::any_of(options.devices.begin(), options.devices.end(),
                                        [](const std::string& name) { return name.starts_with("testpmd"); });
  if (with_testpmd && !options.hugepages)
    throw std::invalid_argument("testpmd shares memory with this program by hugepages: test/bench/run reserves them");

  drivers::EalOptions eal_options;
  eal_options.program = "linerate";
  eal_options.hugepages = options.hugepages;
  eal_options.memory_bytes = memory_for(points, options.trial);
  eal_options.core = options.cores[1];
  eal_options.workers.assign(options.devices.size(), options.cores[0]);
  if (with_testpmd) {
    eal_options.shared_as = fmt::format("linerate-{}", getpid());
    eal_options.huge_dir = options.huge_dir;
  }
  const drivers::Eal eal(eal_options);
  const drivers::Clock clock;
  RingPorts ports(kPortIn, kPortOut);
  std::vector<DeviceMaker> makers;
  for (const std::string& name : options.devices) makers.push_back(maker_of(name, options, eal_options.shared_as));

  app::Json json;
  json["machine"] = describe_machine(options.hugepages, options.cores[1], options.cores[0]);
  json["method"] = describe_method(options.trial, ports);
  json["points"] = app::Json::array();
  bool right = true;
  fmt::print(stderr, "{}\n", table_head());
  for (const Point& point : points) {
    const double distance = line_transfer_cycles(1);
    app::Json result = describe(point, options.trial, run_trial(point, options.trial, makers, ports, clock));
    result["line_transfer_cycles"] = {distance, line_transfer_cycles(1)};
    fmt::print(stderr, "{}\n", table_row(result));
    right = right && result["errors"].empty();
    json["points"].push_back(std::move(result));
  }
  if (options.json.empty())
    std::cout << json.dump(1) << "\n";
  else
    app::write_atomically(options.json, json);
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Measures what one core passes: the box, and references on the same ports (rings in memory) with the same "
      "frames, in turn, several rounds.\n\n"
      "One core makes a chunk of real frames (valid ICRCs, many connections, payloads that differ), the other, the "
      "device, takes them in, deals with them and sends; then the first checks all that came out. Only the device's "
      "time counts, so the generator is no limit. Compare ratios of one run; absolute figures move with the "
      "machine.\n\n"
      "Prints one JSON document, and a line for each point on standard error. Exit status 1 when what came out was "
      "wrong, never for being slow. test/bench/run does all of it with hugepages, testpmd and plots."};
  Options options;
  app.add_option("--workload", options.workloads, "which (see --list); default: a set of about three minutes");
  app.add_option("--flows", options.flows, "connections")->check(CLI::Range(1u, 65536u));
  app.add_option("--custody", options.custody_ms, "milliseconds of long haul: what has no answer yet")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--devices", options.devices,
                 "in this order; ratios are the first one's: box, floor (checks ICRCs, sends), macswap and mac (as "
                 "testpmd does them), testpmd-macswap and testpmd-mac (itself; with hugepages)")
      ->check(CLI::IsMember({"box", "floor", "macswap", "mac", "testpmd-macswap", "testpmd-mac"}))
      ->capture_default_str();
  app.add_option("--rounds", options.trial.rounds, "A B C, A B C, ...")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--packets", options.trial.packets, "of each device in each round, at least two a connection")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  app.add_option("--chunk", options.trial.chunks.frames, "frames put into a port at a time")
      ->check(CLI::Range(32u, kPortIn))
      ->capture_default_str();
  app.add_flag("--cold", options.trial.chunks.cold,
               "frames come from memory, as from a NIC that fills no cache, not from the other core's cache");
  app.add_option("--cores", options.cores, "processors: the device's, the generator's")
      ->expected(2)
      ->capture_default_str();
  app.add_flag("--hugepages", options.hugepages, "use hugepages, as a box in production does");
  app.add_option("--huge-dir", options.huge_dir, "where hugetlbfs is mounted (for testpmd)");
  app.add_option("--json", options.json, "write the document there instead of to standard output");
  app.add_option("--testpmd-log", options.testpmd_log, "what testpmd prints goes there")->capture_default_str();
  app.add_flag("--list", options.list, "show the workloads and the default set, measure nothing");
  app.add_flag("--memory", options.memory, "print the bytes of memory this choice needs, measure nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.list) {
      list();
      return 0;
    }
    if (options.memory) {
      fmt::print("{}\n", memory_for(points_of(options), options.trial));
      return 0;
    }
    return measure(options);
  } catch (const std::invalid_argument& e) {
    fmt::print(stderr, "linerate: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "linerate: {}\n", e.what());
    return 1;
  }
}
