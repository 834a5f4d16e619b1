// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/linerate_report.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_version.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <thread>

#include "app/box/box_loop.hpp"

namespace longhaul::bench {

namespace {

double rounded(double value) { return std::round(value * 1000) / 1000; }

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::vector<double> by_round(const DeviceResult& result, const std::function<double(const Round&)>& value) {
  std::vector<double> values;
  for (const Round& round : result.rounds) values.push_back(value(round));
  return values;
}

/// The sum of `what` over all chunks, per packet.
double per_packet(const DeviceResult& result, std::uint64_t Round::Chunk::*what) {
  double sum = 0;
  double packets = 0;
  for (const Round& round : result.rounds)
    for (const Round::Chunk& chunk : round.chunks) {
      sum += static_cast<double>(chunk.*what);
      packets += static_cast<double>(chunk.packets);
    }
  return packets > 0 ? sum / packets : 0;
}

app::Json describe_device(const DeviceResult& result) {
  app::Json json;
  const bool busy = has_busy(result);
  const auto cycles = by_round(result, [&](const Round& round) { return cycles_per_packet(round, busy); });
  const double hz = static_cast<double>(rte_get_tsc_hz());
  const double bytes = per_packet(result, &Round::Chunk::bytes);
  const double pps = median(cycles) > 0 ? hz / median(cycles) : 0;
  std::uint64_t packets = 0;
  std::uint64_t chunks = 0;
  std::uint64_t preempted = 0;
  for (const Round& round : result.rounds)
    for (const Round::Chunk& chunk : round.chunks) {
      packets += chunk.packets;
      ++chunks;
      preempted += chunk.preempted ? 1 : 0;
    }
  json["packets"] = packets;
  json["chunks"] = chunks;
  json["chunks_preempted"] = preempted;
  json["mpps"] = rounded(pps / 1e6);
  json["gbps_frames"] = rounded(pps * bytes * 8 / 1e9);
  json["gbps_line"] = rounded(pps * (bytes + kLineOverhead) * 8 / 1e9);
  json["measured"] = busy ? "inside" : "outside";
  json["cycles_per_packet"] = summary(cycles);
  json["cycles_per_packet_mean"] =
      summary(by_round(result, [&](const Round& round) { return mean_cycles_per_packet(round, busy); }));
  json["cycles_per_packet_mean_undisturbed"] =
      summary(by_round(result, [&](const Round& round) { return undisturbed_mean_cycles_per_packet(round, busy); }));
  json["outside_cycles_per_packet"] =
      summary(by_round(result, [&](const Round& round) { return cycles_per_packet(round, false); }));
  return json;
}

/// `a`'s rate divided by `b`'s, and the extra cycles of `a`, in each round. The figures are those of the devices' own
/// loops if both can tell, otherwise those seen from outside.
void compare(app::Json& json, const DeviceResult& a, const DeviceResult& b) {
  const bool inside = has_busy(a) && has_busy(b);
  std::vector<double> ratios;
  std::vector<double> extra;
  for (std::size_t i = 0; i < std::min(a.rounds.size(), b.rounds.size()); ++i) {
    const double of_a = cycles_per_packet(a.rounds[i], inside);
    const double of_b = cycles_per_packet(b.rounds[i], inside);
    if (of_a == 0 || of_b == 0) continue;
    ratios.push_back(of_b / of_a);
    extra.push_back(of_a - of_b);
  }
  app::Json& entry = json[a.name + "/" + b.name];
  entry["measured"] = inside ? "inside" : "outside";
  entry["rate_ratio"] = summary(ratios);
  entry["extra_cycles_per_packet"] = summary(extra);
}

}  // namespace

app::Json summary(const std::vector<double>& values) {
  app::Json json;
  json["median"] = rounded(median(values));
  for (const double value : values) json["rounds"].push_back(rounded(value));
  return json;
}

app::Json describe_machine(bool hugepages, unsigned generator_core, unsigned device_core) {
  app::Json json;
  json["processor"] = cpu_model();
  json["processors"] = std::thread::hardware_concurrency();
  json["tsc_hz"] = rte_get_tsc_hz();
  json["dpdk"] = rte_version();
  json["hugepages"] = hugepages;
  json["device_core"] = device_core;
  json["generator_core"] = generator_core;
  return json;
}

app::Json describe_method(const TrialOptions& options, const RingPorts& ports) {
  app::Json json;
  json["rounds"] = options.rounds;
  json["packets_per_round"] = options.packets;
  json["burst"] = app::BoxLoop::kBurst;
  json["chunk"] = options.chunks.frames;
  json["cold"] = options.chunks.cold;
  json["port_in_frames"] = ports.in_frames();
  json["port_out_frames"] = ports.out_frames();
  json["packets"] =
      "requests that carry data, READ responses, ACKs (workload acks), or foreign frames; what else goes through with "
      "them (ACKs, READ requests) is in their cost, not in their number";
  json["inside"] =
      "TSC cycles of the device's own loop, from the receive that gave a chunk's first frame to the one after its last "
      "was dealt with; the generator, on another core, made the chunk before and checks it afterwards";
  json["outside"] =
      "TSC cycles from putting a chunk into the ports to seeing that the device is done: all that can be said of "
      "testpmd. "
      "It adds the hand-over between two cores, once a chunk, and whatever keeps the generator from looking";
  json["cycles_per_packet"] =
      "a round's is the median of its chunks, those left out in which the kernel let somebody else run on the device's "
      "core, or, as seen from outside, on the generator's (chunks_preempted counts the former); the median is that of "
      "the rounds; mpps and gbps follow from "
      "it";
  json["cycles_per_packet_mean"] = "over all chunks, what preemptions took included";
  json["line_transfer_cycles"] =
      "what a cache line takes from the generator's core to the device's, before and after: where the two share no "
      "cache it "
      "is as far as memory, and frames come that slowly";
  json["gbps_line"] = "frames with FCS, preamble and gap";
  return json;
}

app::Json describe(const Point& point, std::span<const DeviceResult> results) {
  app::Json json;
  json["workload"] = point.workload->name;
  json["what"] = point.workload->what;
  json["flows"] = point.flows;
  json["custody_ms"] = rounded(point.custody_ms());
  json["custody_packets"] = point.custody_packets;
  json["custody_bytes"] = point.custody_bytes();
  const double bytes = per_packet(results.front(), &Round::Chunk::bytes);
  json["frame_bytes"] = rounded(bytes);
  json["frames_in_per_packet"] = rounded(per_packet(results.front(), &Round::Chunk::frames));
  json["line_rate_100g_mpps"] = bytes > 0 ? rounded(line_rate_100g(bytes) / 1e6) : 0;
  for (const DeviceResult& result : results) json["devices"][result.name] = describe_device(result);
  for (std::size_t i = 1; i < results.size(); ++i) compare(json["compared"], results[0], results[i]);
  // The same mode in testpmd and here shows how good the copy is.
  for (const DeviceResult& a : results)
    for (const DeviceResult& b : results)
      if (&a != &results[0] && b.name == "testpmd-" + a.name) compare(json["compared"], a, b);
  json["errors"] = app::Json::array();
  for (const DeviceResult& result : results)
    for (const std::string& error : result.errors) json["errors"].push_back(result.name + ": " + error);
  return json;
}

std::string table_head() {
  return fmt::format("{:<12} {:>6} {:>9} {:>6} {:>5}   {}", "workload", "flows", "custody", "frame", "line",
                     "Mpps (cycles/packet), ratio");
}

std::string table_row(const app::Json& point) {
  std::string row = fmt::format("{:<12} {:>6} {:>6.1f} MB {:>6.0f} {:>5.0f}  ", point["workload"].get<std::string>(),
                                point["flows"].get<unsigned>(), point["custody_bytes"].get<double>() / 1e6,
                                point["frame_bytes"].get<double>(), point["line_transfer_cycles"].back().get<double>());
  std::string first;
  for (const auto& [name, device] : point["devices"].items()) {
    row += fmt::format(" {} {:.2f} ({:.0f})", name, device["mpps"].get<double>(),
                       device["cycles_per_packet"]["median"].get<double>());
    if (first.empty())
      first = name;
    else
      row += fmt::format(" {:.2f}", point["compared"][first + "/" + name]["rate_ratio"]["median"].get<double>());
    row += " |";
  }
  for (const auto& error : point["errors"]) row += "\n  WRONG: " + error.get<std::string>();
  return row;
}

}  // namespace longhaul::bench
