// SPDX-License-Identifier: BSD-3-Clause
// How long a requester waits for its pseudo-ACK while the box has half of the load that it can carry.
#include <fmt/core.h>
#include <rte_cycles.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "drivers/eal.hpp"
#include "test/bench/delay_meter.hpp"
#include "test/bench/devices.hpp"
#include "test/bench/linerate_report.hpp"
#include "test/bench/program.hpp"
#include "test/bench/trial.hpp"

namespace {

using namespace longhaul;
using namespace longhaul::bench;

constexpr std::uint64_t kMemoryBesides = 512ull << 20;  // DPDK itself, rings, tables
constexpr std::uint64_t kPausesPerSecond = 100'000;     // 10 us
constexpr double kPausePackets = 4;                     // and four times what its frames take at the highest rate

struct Options : ProgramOptions {
  std::vector<std::string> workloads = {"write512"};
  std::uint32_t flows = 64;
  double custody_ms = 1;
  double load = 0.5;
  bool with_record = false;
};

/// The box or the floor, between ports where frames arrive when they are due.
struct Paced {
  std::unique_ptr<PacedPorts> ports;
  std::vector<std::unique_ptr<DelayMeter>> meters;  ///< one for each round
};

Point point_of(const std::string& name, const Options& options) {
  const Workload& row = workload(name);
  const bool fits = row.scripts.size() == 1 && row.scripts[0].size() == 1 && row.scripts[0][0].packets == 1 &&
                    row.scripts[0][0].operation != wire::Operation::read_request &&
                    row.requesters == Requesters::host_side && !row.answers_only && row.announced;
  if (!fits)
    throw std::invalid_argument(name + ": the delay is that of WRITEs or SENDs of one packet from the host side");
  return {&row, options.flows, packets_of_ms(row, options.custody_ms)};
}

std::vector<Entrant> entrants_of(const Point& point, const Options& options, std::array<Paced, 2>& paced) {
  const bool share = options.share_core();
  const auto pace = [](Paced& own, const Bench& b) {
    own.ports = std::make_unique<PacedPorts>(b.ports.pair(), b.ports.out_frames());
    return own.ports->pair();
  };
  return {{point,
           [&options, &paced, share, pace](const Bench& b) {
             return std::make_unique<BoxDevice>(pace(paced[0], b), b.lcore, share, b.settings, b.pools, b.clock,
                                                options.with_record);
           },
           true},
          {point,
           [&paced, share, pace](const Bench& b) {
             return std::make_unique<FloorDevice>(pace(paced[1], b), b.lcore, share, FloorDevice::Icrc::frozen);
           },
           false}};
}

std::uint64_t memory_for(const Options& options) {
  std::uint64_t most = 0;
  std::array<Paced, 2> paced;
  for (const std::string& name : options.workloads)
    most = std::max(most, engine::Pools::bytes_needed(
                              pools_for(entrants_of(point_of(name, options), options, paced), options.trial)));
  return most + kMemoryBesides;
}

app::Json quantiles(std::vector<std::uint32_t> cycles) {
  app::Json json;
  json["samples"] = cycles.size();
  if (cycles.empty()) return json;
  std::sort(cycles.begin(), cycles.end());
  const double ns = 1e9 / static_cast<double>(rte_get_tsc_hz());
  for (const auto& [name, fraction] :
       {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"max", 1.0}}) {
    const auto place = static_cast<std::size_t>(fraction * static_cast<double>(cycles.size()));
    json[name] = std::round(cycles[std::min(place, cycles.size() - 1)] * ns);
  }
  return json;
}

app::Json describe(const std::vector<std::unique_ptr<DelayMeter>>& meters) {
  app::Json json;
  Delays delays;
  app::Json rounds = app::Json::array();
  for (const auto& meter : meters) {
    const Delays& own = meter->delays();
    delays.add(own);
    rounds.push_back(quantiles(own.undisturbed));
  }
  json["chunks"] = delays.chunks;
  json["chunks_preempted"] = delays.chunks_preempted;
  json["chunks_paused"] = delays.chunks_paused;
  json["chunks_late"] = delays.chunks_late;
  json["longest_pause_us"] =
      std::round(static_cast<double>(delays.longest_pause) * 1e6 / static_cast<double>(rte_get_tsc_hz()));
  json["seconds_of_arrivals"] = delays.seconds;
  std::vector<std::uint32_t> all = delays.undisturbed;
  all.insert(all.end(), delays.paused.begin(), delays.paused.end());
  json["not_preempted_ns"] = quantiles(all);
  all.insert(all.end(), delays.preempted.begin(), delays.preempted.end());
  json["all_ns"] = quantiles(std::move(all));
  json["undisturbed_ns"] = quantiles(std::move(delays.undisturbed));
  json["undisturbed_ns_by_round"] = std::move(rounds);
  return json;
}

std::string line_of(const app::Json& point, const std::string& device, const char* set) {
  const app::Json& figures = point["devices"][device][set];
  std::string line = fmt::format("  {:<6} {:<17} {:>9}", device, set, figures["samples"].get<std::uint64_t>());
  for (const char* name : {"p50", "p90", "p99", "p99_9", "max"})
    line += fmt::format(" {:>9.2f}", figures.contains(name) ? figures[name].get<double>() / 1e3 : 0.0);
  return line;
}

/// Each round measures the box's highest rate, then box and floor at a part of that rate.
app::Json measure(const Point& point, const Options& options, RingPorts& ports, const drivers::Clock& clock) {
  std::array<Paced, 2> paced;
  const auto entrants = entrants_of(point, options, paced);
  Trial trial(entrants, options.trial, ports, clock);
  const double hz = static_cast<double>(rte_get_tsc_hz());
  std::vector<double> highest;
  std::vector<double> offered;
  for (unsigned round = 0; round < options.trial.rounds; ++round) {
    double cycles = 0;
    for (std::size_t i = 0; i < entrants.size(); ++i)
      trial.turn(i, [&](Session& session) {
        if (i == 0) {
          paced[i].ports->schedule({});
          cycles = cycles_per_packet(session.measure(options.trial.packets / 4), true);
          highest.push_back(hz / cycles / 1e6);
          offered.push_back(highest.back() * options.load);
        }
        paced[i].ports->set_pause(rte_get_tsc_hz() / kPausesPerSecond,
                                  static_cast<std::uint64_t>(cycles * kPausePackets));
        paced[i].meters.push_back(std::make_unique<DelayMeter>(*paced[i].ports, trial.device(i), session.connections(),
                                                               i == 0 ? Side::host : Side::wan));
        paced[i].meters.back()->set_interval(cycles / options.load);
        session.set_observer(paced[i].meters.back().get());
        session.measure(options.trial.packets);
        session.set_observer(nullptr);
        paced[i].ports->schedule({});
      });
  }

  app::Json json;
  json["workload"] = point.workload->name;
  json["flows"] = point.flows;
  json["custody_packets"] = point.custody_packets;
  json["load"] = options.load;
  json["with_record"] = options.with_record;
  json["highest_mpps"] = summary(highest);
  json["offered_mpps"] = summary(offered);
  json["errors"] = app::Json::array();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    names.push_back(trial.device(i).name());
    json["devices"][names[i]] = describe(paced[i].meters);
    for (const auto& meter : paced[i].meters)
      if (meter->missing() != 0)
        json["errors"].push_back(fmt::format("{}: nothing came for {} requests", names[i], meter->missing()));
  }
  const auto errors = trial.finish();
  for (std::size_t i = 0; i < entrants.size(); ++i)
    for (const std::string& error : errors[i]) json["errors"].push_back(names[i] + ": " + error);
  return json;
}

app::Json describe_method(const Options& options) {
  app::Json json;
  json["rounds"] = options.trial.rounds;
  json["packets_per_round"] = options.trial.packets;
  json["delay"] =
      "from the arrival of a request at the host port, at random times (Poisson), to the return of the transmit that "
      "took its pseudo-ACK; of the floor, which answers nothing, to that of the transmit that took the request";
  json["highest_mpps"] = "requests that the box passes, with their ACKs, when all are there at once";
  json["load"] = "of that, in the same round; the responder's ACKs arrive at the same rate";
  json["chunks_preempted"] = "chunks in which the kernel gave the device's core to somebody else";
  json["chunks_paused"] =
      "other chunks in which the loop did not come round for 10 us and four times what its frames take at the highest "
      "rate: a hypervisor preempts without a trace, and the floor, whose turns are short, shows how often";
  json["chunks_late"] = "left out: generator or device had no core in the moment in which the first frame was due";
  json["all_ns"] = "every request";
  json["not_preempted_ns"] = "without preempted chunks";
  json["undisturbed_ns"] = "without paused ones too";
  return json;
}

int measure(const Options& options) {
  const drivers::Eal eal(eal_options("ack_delay", options, memory_for(options), 2));
  const drivers::Clock clock;
  RingPorts ports(kPortIn, kPortOut);

  app::Json json;
  json["machine"] = describe_machine(options.hugepages, options.cores[1], options.cores[0]);
  json["method"] = describe_method(options);
  json["points"] = app::Json::array();
  bool right = true;
  for (const std::string& name : options.workloads) {
    app::Json point = measure(point_of(name, options), options, ports, clock);
    fmt::print(stderr, "{} at {:.2f} of {:.2f} M/s, microseconds\n  {:<24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", name,
               point["offered_mpps"]["median"].get<double>(), point["highest_mpps"]["median"].get<double>(), "",
               "requests", "p50", "p90", "p99", "p99.9", "max");
    for (const auto& [device, figures] : point["devices"].items()) {
      for (const char* set : {"all_ns", "not_preempted_ns", "undisturbed_ns"})
        fmt::print(stderr, "{}\n", line_of(point, device, set));
      fmt::print(stderr, "  {:<6} of {} chunks {} preempted, {} paused, for {} us at most; {} more begun late\n",
                 device, figures["chunks"].get<std::uint64_t>(), figures["chunks_preempted"].get<std::uint64_t>(),
                 figures["chunks_paused"].get<std::uint64_t>(), figures["longest_pause_us"].get<double>(),
                 figures["chunks_late"].get<std::uint64_t>());
    }
    for (const auto& error : point["errors"]) fmt::print(stderr, "  WRONG: {}\n", error.get<std::string>());
    right = right && point["errors"].empty();
    json["points"].push_back(std::move(point));
  }
  write_document(options.json, json);
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Measures the delay of pseudo-ACKs, request in to ACK out, while the box has a part of what it can do.\n\n"
      "The box's own loop, busy polling on one core, on ports that are rings in memory; the other core makes the "
      "requests, answers them, and checks all that comes out. Each round finds the highest rate first, then lets "
      "requests arrive at random at --load times that, at the box and, for comparison, at the floor, a loop that only "
      "receives, checks the ICRC and sends.\n\n"
      "Prints one JSON document, and a table on standard error. Exit status 1 when what came out was wrong, never for "
      "being slow."};
  Options options;
  app.add_option("--workload", options.workloads, "of build/test/bench/linerate --list, WRITEs or SENDs of one packet")
      ->capture_default_str();
  app.add_option("--flows", options.flows, "connections")->check(CLI::Range(1u, 65536u))->capture_default_str();
  app.add_option("--custody", options.custody_ms, "milliseconds of long haul: what has no answer yet")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option("--load", options.load, "of the highest rate")->check(CLI::Range(0.01, 1.0))->capture_default_str();
  app.add_flag("--record", options.with_record, "with a restart record, in ordinary memory");
  options.add_to(app);
  CLI11_PARSE(app, argc, argv);
  return run_program("ack_delay", [&] {
    if (options.memory) {
      fmt::print("{}\n", memory_for(options));
      return 0;
    }
    return measure(options);
  });
}
