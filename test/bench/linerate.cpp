// SPDX-License-Identifier: BSD-3-Clause
// How many packets a second the box passes on one core. For comparison: the least that any box must do, and testpmd, on
// the same ports and frames.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "drivers/eal.hpp"
#include "test/bench/core_distance.hpp"
#include "test/bench/devices.hpp"
#include "test/bench/linerate_report.hpp"
#include "test/bench/program.hpp"
#include "test/bench/testpmd.hpp"
#include "test/bench/trial.hpp"

namespace {

using namespace longhaul;
using namespace longhaul::bench;

constexpr std::uint64_t kMemoryBesides = 256ull << 20;  // DPDK itself, rings, tables of few connections
constexpr std::uint64_t kMemoryOfConnection = 8192;     // in the tables, which have twice the room

struct Options : ProgramOptions {
  std::vector<std::string> workloads;
  std::vector<std::uint32_t> flows;
  std::vector<double> custody_ms;
  std::vector<double> custody_mb;
  std::vector<std::string> devices = {"box", "floor", "macswap"};
  bool interleave = false;
  std::string testpmd_log = "/tmp/linerate-testpmd.log";
  bool list = false;
};

std::vector<std::uint32_t> custody_of(const Options& options, const Workload& row) {
  std::vector<std::uint32_t> packets;
  for (const double mb : options.custody_mb) packets.push_back(packets_of_bytes(row, mb * 1e6));
  for (const double ms : options.custody_ms) packets.push_back(packets_of_ms(row, ms));
  if (packets.empty()) packets.push_back(packets_of_ms(row, 1));
  if (row.scripts.empty()) packets.resize(1);
  return packets;
}

/// What is measured: each row is one trial, and its points take turns.
std::vector<std::vector<Point>> trials_of(const Options& options) {
  std::vector<std::vector<Point>> trials;
  if (options.workloads.empty() && options.flows.empty() && options.custody_ms.empty() && options.custody_mb.empty()) {
    for (const Point& point : default_points()) trials.push_back({point});
    return trials;
  }
  std::vector<const Workload*> chosen;
  for (const std::string& name : options.workloads) chosen.push_back(&workload(name));
  if (chosen.empty())
    for (const Workload& row : workloads()) chosen.push_back(&row);
  for (const Workload* row : chosen) {
    bool first = true;
    for (const std::uint32_t flows : options.flows.empty() ? std::vector<std::uint32_t>{64} : options.flows)
      for (const std::uint32_t custody : custody_of(options, *row)) {
        if (first || !options.interleave) trials.emplace_back();
        trials.back().push_back({row, flows, custody});
        first = false;
      }
  }
  return trials;
}

void list() {
  fmt::print("Workloads\n");
  for (const Workload& row : workloads()) fmt::print("  {:<12} {}\n", row.name, row.what);
  fmt::print("\nMeasured by default: workload, connections, custody\n");
  for (const Point& point : default_points())
    fmt::print("  {:<12} {:>6} {:>3.0f} ms = {} packets\n", point.workload->name, point.flows, point.custody_ms(),
               point.custody_packets);
}

DeviceMaker maker_of(const std::string& name, const Options& options, const std::string& shared_as) {
  const bool share = options.share_core();
  if (name == "box")
    return [share](const Bench& b) {
      return std::make_unique<BoxDevice>(b.ports.pair(), b.lcore, share, b.settings, b.pools, b.clock);
    };
  if (name == "box-scraped")
    return [share](const Bench& b) {
      return std::make_unique<ScrapedBoxDevice>(b.ports.pair(), b.lcore, share, b.settings, b.pools, b.clock);
    };
  if (name == "floor" || name == "floor-box-icrc") {
    const auto icrc = name == "floor" ? FloorDevice::Icrc::frozen : FloorDevice::Icrc::box;
    return
        [share, icrc](const Bench& b) { return std::make_unique<FloorDevice>(b.ports.pair(), b.lcore, share, icrc); };
  }
  if (name == "floor-backlog")
    return [share](const Bench& b) {
      // The box's average: a chunk's answers come with the next chunk.
      const std::uint32_t backlog = b.point.custody_packets + b.options.chunks.frames;
      return std::make_unique<BacklogDevice>(b.ports.pair(), b.lcore, share, backlog);
    };
  const bool swaps = name.ends_with("macswap");
  const MacDevice::Mode mode = swaps ? MacDevice::Mode::swap : MacDevice::Mode::set;
  if (name == "macswap" || name == "mac")
    return [share, mode](const Bench& b) { return std::make_unique<MacDevice>(b.ports.pair(), b.lcore, share, mode); };
  const TestpmdOptions testpmd{shared_as, options.huge_dir, options.cores[1], options.cores[0], options.testpmd_log};
  return [testpmd, mode](const Bench& b) { return std::make_unique<Testpmd>(b.ports, testpmd, mode); };
}

/// Each device at each point of the trial.
std::vector<Entrant> entrants_of(const std::vector<Point>& trial, const Options& options,
                                 const std::string& shared_as = {}) {
  std::vector<Entrant> entrants;
  for (const Point& point : trial)
    for (const std::string& name : options.devices)
      entrants.push_back(
          {point, maker_of(name, options, shared_as), name.starts_with("box") || name == "floor-backlog"});
  return entrants;
}

std::size_t most_entrants(const Options& options) {
  std::size_t most = 0;
  for (const auto& trial : trials_of(options)) most = std::max(most, trial.size());
  return most * options.devices.size();
}

std::uint64_t memory_for(const Options& options) {
  std::uint64_t most = 0;
  for (const auto& trial : trials_of(options)) {
    std::uint64_t tables = 0;
    for (const Point& point : trial) tables += kMemoryOfConnection * point.flows;
    most = std::max(most, tables + engine::Pools::bytes_needed(pools_for(entrants_of(trial, options), options.trial)));
  }
  return most + kMemoryBesides;
}

int measure(const Options& options) {
  const bool with_testpmd = std::any_of(options.devices.begin(), options.devices.end(),
                                        [](const std::string& name) { return name.starts_with("testpmd"); });
  if (with_testpmd && !options.hugepages)
    throw std::invalid_argument("testpmd shares memory with this program by hugepages: test/bench/run reserves them");

  drivers::EalOptions eal_options;
  eal_options.program = "linerate";
  eal_options.hugepages = options.hugepages;
  eal_options.memory_bytes = memory_for(options);
  eal_options.core = options.cores[1];
  eal_options.workers.assign(most_entrants(options), options.cores[0]);
  if (with_testpmd) {
    eal_options.shared_as = fmt::format("linerate-{}", getpid());
    eal_options.huge_dir = options.huge_dir;
  }
  const drivers::Eal eal(eal_options);
  const drivers::Clock clock;
  RingPorts ports(kPortIn, kPortOut);
  app::Json json;
  json["machine"] = describe_machine(options.hugepages, options.cores[1], options.cores[0]);
  json["method"] = describe_method(options.trial, ports);
  json["points"] = app::Json::array();
  bool right = true;
  fmt::print(stderr, "{}\n", table_head());
  unsigned number = 0;
  for (const auto& trial : trials_of(options)) {
    const double distance = line_transfer_cycles(1);
    const auto entrants = entrants_of(trial, options, eal_options.shared_as);
    const auto results = run_trial(entrants, options.trial, ports, clock);
    const double distance_after = line_transfer_cycles(1);
    const engine::PoolPlan plan = pools_for(entrants, options.trial);
    for (std::size_t i = 0; i < trial.size(); ++i) {
      const std::span<const DeviceResult> own(results.data() + i * options.devices.size(), options.devices.size());
      app::Json point = describe(trial[i], own);
      point["trial"] = number;
      point["mbufs"] = plan.frames;
      point["small_mbufs"] = plan.small_frames;
      point["line_transfer_cycles"] = {distance, distance_after};
      fmt::print(stderr, "{}\n", table_row(point));
      right = right && point["errors"].empty();
      json["points"].push_back(std::move(point));
    }
    ++number;
  }
  write_document(options.json, json);
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
  app.add_option("--custody-mb", options.custody_mb, "megabytes (10^6) without an answer; 125 are 10 ms of 100 Gbit/s")
      ->check(CLI::Range(0.0, 1000.0))
      ->excludes("--custody");
  app.add_option(
         "--devices", options.devices,
         "in this order; ratios are the first one's: box, box-scraped (asked for its metrics), floor (checks "
         "ICRCs, as when the marks were set, and sends), floor-box-icrc (with the box's own ICRC), floor-backlog "
         "(floor, and keeps as many requests as the box has in custody), macswap and mac (as testpmd does them), "
         "testpmd-macswap "
         "and testpmd-mac (itself; with hugepages)")
      ->check(CLI::IsMember({"box", "box-scraped", "floor", "floor-box-icrc", "floor-backlog", "macswap", "mac",
                             "testpmd-macswap", "testpmd-mac"}))
      ->capture_default_str();
  app.add_flag(
      "--interleave", options.interleave,
      "a workload's numbers of connections and amounts in custody take turns too, so that they can be compared");
  app.add_option("--chunk", options.trial.chunks.frames, "frames put into a port at a time")
      ->check(CLI::Range(32u, kPortIn))
      ->capture_default_str();
  app.add_flag("--cold", options.trial.chunks.cold,
               "frames come from memory, as from a NIC that fills no cache, not from the other core's cache");
  app.add_option("--testpmd-log", options.testpmd_log, "what testpmd prints goes there")->capture_default_str();
  app.add_flag("--list", options.list, "show the workloads and the default set, measure nothing");
  options.add_to(app);
  CLI11_PARSE(app, argc, argv);
  return run_program("linerate", [&] {
    if (options.list) {
      list();
      return 0;
    }
    if (options.memory) {
      fmt::print("{}\n", memory_for(options));
      return 0;
    }
    return measure(options);
  });
}
