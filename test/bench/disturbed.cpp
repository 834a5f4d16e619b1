// SPDX-License-Identifier: BSD-3-Clause
// What hostile hosts cost those that share a box with them (design rule 9).
#include <fmt/core.h>
#include <rte_cycles.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>

#include "drivers/eal.hpp"
#include "test/bench/attacks/table.hpp"
#include "test/bench/delay_meter.hpp"
#include "test/bench/devices.hpp"
#include "test/bench/disturbance.hpp"
#include "test/bench/linerate_report.hpp"
#include "test/bench/program.hpp"
#include "test/bench/trial.hpp"

namespace {

using namespace longhaul;
using namespace longhaul::bench;

constexpr std::uint64_t kMemoryBesides = 512ull << 20;  // DPDK itself, rings, tables
constexpr std::uint64_t kPausesPerSecond = 100'000;     // 10 us
constexpr double kPausePackets = 4;                     // as in ack_delay
constexpr std::uint32_t kConnections = 65536;
constexpr double kPairShare = 0.5;
// Custody has room for this many times what the victims need.
constexpr std::uint32_t kCustody = 4;

struct Options : ProgramOptions {
  std::string workload = "write512";
  std::uint32_t flows = 64;
  double custody_ms = 1;
  double share = 0.1;
  std::uint32_t held = 1000;
  double load = 0.5;
  std::string only;
};

/// What the box counts of other hosts' frames is no error; what it does to the victims' is.
class SharedBox final : public BoxDevice {
 public:
  SharedBox(std::string name, PortPair ports, unsigned lcore, bool share, const engine::Settings& settings,
            const Bench& b)
      : BoxDevice(ports, lcore, share, settings, b.pools, b.clock), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::string complaint() const override { return {}; }

 private:
  std::string name_;
};

/// The victims' box, and who else is there.
struct Scene {
  const char* name;
  Disturbance::Kind kind;
  std::unique_ptr<PacedPorts> ports;
  std::unique_ptr<Disturbance> others;
  std::vector<double> packets_per_second;  ///< by round
  std::vector<double> p99_ns;
  std::vector<std::string> errors;
};

Point point_of(const Options& options) {
  const Workload& row = workload(options.workload);
  return {&row, options.flows, packets_of_ms(row, options.custody_ms)};
}

// With limits as in a running box, where those of the other programs have none.
engine::Settings settings_of(const Bench& b, const TrialOptions& trial) {
  engine::Settings settings = b.settings;
  const std::uint32_t packets = most_in_custody(b.point, trial);
  settings.custody_mbufs = kCustody * packets;
  settings.custody_box_bytes = kCustody * packets * static_cast<std::uint64_t>(b.point.workload->frame_bytes());
  settings.custody_flow_bytes = settings.custody_box_bytes;
  settings.custody_pair_share = settings.connections_pair_share = kPairShare;
  settings.max_connections = kConnections;
  settings.max_candidates = engine::Settings{}.max_candidates;
  return settings;
}

std::vector<Entrant> entrants_of(const Point& point, const Options& options, std::array<Scene, 2>& scenes) {
  std::vector<Entrant> entrants;
  for (Scene& scene : scenes)
    entrants.push_back({point,
                        [&scene, &options](const Bench& b) {
                          scene.ports = std::make_unique<PacedPorts>(b.ports.pair(), b.ports.out_frames());
                          scene.others =
                              std::make_unique<Disturbance>(scene.kind, options.held, options.only, b.pools.frames);
                          return std::make_unique<SharedBox>(scene.name, scene.ports->pair(), b.lcore,
                                                             options.share_core(), settings_of(b, options.trial), b);
                        },
                        true, kCustody * most_in_custody(point, options.trial)});
  return entrants;
}

std::array<Scene, 2> scenes() {
  return {{{"udp", Disturbance::Kind::udp, {}, {}, {}, {}, {}},
           {"attacks", Disturbance::Kind::attacks, {}, {}, {}, {}, {}}}};
}

std::uint64_t memory_for(const Options& options) {
  std::array<Scene, 2> each = scenes();
  return engine::Pools::bytes_needed(pools_for(entrants_of(point_of(options), options, each), options.trial)) +
         kMemoryBesides;
}

void measure_rate(Scene& scene, Session& session, const Options& options) {
  scene.ports->schedule({});
  const double cycles = cycles_per_packet(session.measure(options.trial.packets), true);
  scene.packets_per_second.push_back(static_cast<double>(rte_get_tsc_hz()) / cycles);
}

void measure_delay(Scene& scene, Device& device, Session& session, double packets_per_second, const Options& options) {
  const auto hz = static_cast<double>(rte_get_tsc_hz());
  const double cycles = hz / packets_per_second;
  scene.ports->set_pause(rte_get_tsc_hz() / kPausesPerSecond, static_cast<std::uint64_t>(cycles * kPausePackets));
  DelayMeter meter(*scene.ports, device, session.connections(), Side::host);
  // Of all frames, the victims' and others'.
  meter.set_interval(cycles / options.load * (1 - options.share));
  session.set_observer(&meter);
  session.measure(options.trial.packets);
  session.set_observer(nullptr);
  scene.ports->schedule({});
  // With those chunks in which the kernel or a hypervisor took the core away, the figure would be theirs.
  std::vector<std::uint32_t> delays = meter.delays().undisturbed;
  if (delays.empty()) return;
  std::sort(delays.begin(), delays.end());
  const auto place = static_cast<std::size_t>(0.99 * static_cast<double>(delays.size()));
  scene.p99_ns.push_back(std::round(delays[std::min(place, delays.size() - 1)] * 1e9 / hz));
  if (meter.missing() != 0) scene.errors.push_back(fmt::format("nothing came for {} requests", meter.missing()));
}

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> out;
  for (std::size_t i = 0; i < std::min(of.size(), to.size()); ++i) out.push_back(of[i] / to[i]);
  return out;
}

int measure(const Options& options) {
  const drivers::Eal eal(eal_options("disturbed", options, memory_for(options), 2));
  const drivers::Clock clock;
  RingPorts ports(kPortIn, kPortOut);

  const Point point = point_of(options);
  std::array<Scene, 2> each = scenes();
  Trial trial(entrants_of(point, options, each), options.trial, ports, clock);
  Scene& udp = each[0];
  for (std::size_t i = 0; i < each.size(); ++i) trial.session(i).disturb(*each[i].others, options.share);
  // The attacks' preparation is not measured.
  for (std::size_t i = 0; i < each.size(); ++i)
    trial.turn(i, [&](Session& session) {
      while (!each[i].others->prepared() && session.errors().empty()) session.measure_chunk(nullptr);
    });
  for (unsigned round = 0; round < options.trial.rounds; ++round) {
    for (std::size_t i = 0; i < each.size(); ++i)
      trial.turn(i, [&](Session& session) { measure_rate(each[i], session, options); });
    for (std::size_t i = 0; i < each.size(); ++i)
      trial.turn(i, [&](Session& session) {
        measure_delay(each[i], trial.device(i), session, udp.packets_per_second.back(), options);
      });
  }

  app::Json json;
  json["machine"] = describe_machine(options.hugepages, options.cores[1], options.cores[0]);
  json["workload"] = options.workload;
  json["flows"] = options.flows;
  json["custody_packets"] = point.custody_packets;
  json["share_of_frames"] = options.share;
  json["held_by_each_attack"] = options.held;
  json["load"] = options.load;
  json["attacks"] = app::Json::array();
  for (const Attack* attack : udp.others->attacks()) json["attacks"].push_back(attack->name);
  json["errors"] = app::Json::array();
  for (const Scene& scene : each) {
    json["victims"][scene.name] = {{"packets_per_second", summary(scene.packets_per_second)},
                                   {"pseudo_ack_p99_ns", summary(scene.p99_ns)},
                                   {"others_frames", scene.others->offered()}};
    for (const std::string& error : scene.errors) json["errors"].push_back(fmt::format("{}: {}", scene.name, error));
  }
  const auto errors = trial.finish();
  for (std::size_t i = 0; i < each.size(); ++i)
    for (const std::string& error : errors[i]) json["errors"].push_back(fmt::format("{}: {}", each[i].name, error));
  const Scene& attacked = each[1];
  json["throughput_ratio"] = summary(ratios(attacked.packets_per_second, udp.packets_per_second));
  json["p99_ratio"] = summary(ratios(attacked.p99_ns, udp.p99_ns));

  for (const Scene& scene : each)
    fmt::print(stderr, "{:<8} {:>8.3f} M packets/s of the victims, p99 of their pseudo-ACKs {:>8.2f} us\n", scene.name,
               median(scene.packets_per_second) / 1e6, median(scene.p99_ns) / 1e3);
  fmt::print(stderr, "attacks / udp, by round: throughput {:.3f}, p99 {:.3f}\n",
             json["throughput_ratio"]["median"].get<double>(), json["p99_ratio"]["median"].get<double>());
  for (const auto& error : json["errors"]) fmt::print(stderr, "WRONG: {}\n", error.get<std::string>());
  write_document(options.json, json);
  return json["errors"].empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Measures what hostile hosts cost others that share a box with them.\n\n"
      "The box's own loop between ports that are rings in memory. Of all frames, --share are those of attacks "
      "(test/bench/attacks/run --list), all of them in turn, or UDP frames of the same sizes at the same places. The "
      "others are the victims': connections whose requests must be acknowledged in the chunk that brought them. Each "
      "round measures the box's highest rate of the victims' packets with both, and then the delay of their "
      "pseudo-ACKs at --load times the rate with UDP.\n\n"
      "Prints one JSON document, and a summary on standard error. Exit status 1 when what came out was wrong, never "
      "for being slow."};
  Options options;
  app.add_option("--workload", options.workload, "the victims': of build/test/bench/linerate --list")
      ->capture_default_str();
  app.add_option("--flows", options.flows, "the victims' connections")
      ->check(CLI::Range(1u, 4096u))
      ->capture_default_str();
  app.add_option("--custody", options.custody_ms, "milliseconds of long haul: what has no answer yet")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option("--share", options.share, "of all frames that are others'")
      ->check(CLI::Range(0.01, 0.9))
      ->capture_default_str();
  app.add_option("--held", options.held, "packets, connections, ... that each attack has the box hold")
      ->check(CLI::Range(100u, 10000u))
      ->capture_default_str();
  app.add_option("--only", options.only, "the attack of this name alone");
  app.add_option("--load", options.load, "of the highest rate")->check(CLI::Range(0.01, 1.0))->capture_default_str();
  options.add_to(app);
  CLI11_PARSE(app, argc, argv);
  return run_program("disturbed", [&] {
    if (options.memory) {
      fmt::print("{}\n", memory_for(options));
      return 0;
    }
    return measure(options);
  });
}
