// SPDX-License-Identifier: BSD-3-Clause
// NVMe-oF over RDMA. A read takes one round trip: command (SEND), data (WRITE by the target), response (SEND). A write
// with its data in the command takes one as well. A larger write takes two: command, READ by the target and its answer,
// response.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "plan/depth.hpp"
#include "plan/framing.hpp"
#include "plan/predict.hpp"
#include "plan/text.hpp"
#include "plan/workload.hpp"

namespace longhaul::plan {
namespace {

constexpr std::uint64_t kCommand = 64;   // NVMe over Fabrics 1.1: command capsule without data
constexpr std::uint64_t kResponse = 16;  // response capsule

enum class Fetch : std::uint8_t { read, in_capsule, fetched };

Fetch fetch_of(const StorageLoad& load, const StorageLoad::Stream& stream) {
  if (!stream.write) return Fetch::read;
  return stream.size <= load.in_capsule ? Fetch::in_capsule : Fetch::fetched;
}

/// The load of one I/O of a stream on the line and the NICs.
struct Cost {
  double to_initiator = 0;  ///< bytes on the line
  double to_target = 0;
  double frames = 0;        ///< with data or capsules, both ways
  double target_posts = 0;  ///< SENDs and WRITEs of the target, acknowledged by its near box or by the initiator
  double target_reads = 0;  ///< READs of the target, which only the initiator answers
};

Cost cost_of(const StorageLoad& load, const StorageLoad::Stream& stream, std::uint32_t path_mtu) {
  const auto bytes = [path_mtu](Operation operation, std::uint64_t size) {
    return static_cast<double>(line_bytes(operation, size, path_mtu));
  };
  const auto packets = [path_mtu](std::uint64_t size) { return static_cast<double>(packets_of(size, path_mtu)); };
  Cost out;
  out.to_initiator = bytes(Operation::send, kResponse);
  out.to_target = bytes(Operation::send, kCommand);
  out.frames = 2 + packets(stream.size);
  out.target_posts = 1;
  switch (fetch_of(load, stream)) {
    case Fetch::read:
      out.to_initiator += bytes(Operation::write, stream.size);
      out.target_posts += 1;
      break;
    case Fetch::in_capsule:
      out.to_target = bytes(Operation::send, kCommand + stream.size);
      out.frames = 1 + packets(kCommand + stream.size);
      break;
    case Fetch::fetched:
      out.to_target += bytes(Operation::read, stream.size);
      out.target_reads = 1;
      break;
  }
  return out;
}

/// The share of what a queue pair sends that finds a READ unfinished, where READs begin at random.
double share_behind_reads(double reads_per_second, double round_trip) {
  return 1 - std::exp(-reads_per_second * round_trip);
}

/// Seconds, mean: a SEND or WRITE behind a READ is acknowledged when the READ is answered, by whomever.
double wait_behind_reads(double reads_per_second, double round_trip) {
  if (reads_per_second <= 0) return 0;
  return round_trip - share_behind_reads(reads_per_second, round_trip) / reads_per_second;
}

/// I/Os per second at which the work requests of all queues' NICs are taken up: each keeps its place until it is
/// answered. By a pair's near box, SENDs and WRITEs are, but for those behind READs: the more I/Os, the more of these.
double nic_bound(const StorageLoad& load, const Hosts& hosts, double posts, double reads, double local, double whole) {
  const double places = static_cast<double>(load.queues) * hosts.nic_depth;
  const auto taken = [&](double per_second) {
    const double wait = local < whole ? wait_behind_reads(per_second * reads / load.queues, whole) : 0;
    return per_second * (posts * std::min(whole, local + wait) + reads * whole);
  };
  double least = 0;
  double most = places / (posts * local + reads * whole);
  constexpr unsigned kHalvings = 100;
  for (unsigned i = 0; i < kHalvings && taken(most) > places; ++i) {
    const double middle = (least + most) / 2;
    if (taken(middle) > places)
      most = middle;
    else
      least = middle;
    if (most - least <= most * 1e-15) break;
  }
  return most;
}

double share_sum(const StorageLoad& load) {
  return std::accumulate(load.streams.begin(), load.streams.end(), 0.0,
                         [](double sum, const StorageLoad::Stream& stream) { return sum + stream.share; });
}

/// Mean over all I/Os; the published shares are scaled to add up to 1.
template <typename Value>
double mean(const StorageLoad& load, Value value) {
  double out = 0;
  for (const StorageLoad::Stream& stream : load.streams) out += stream.share * value(stream);
  return out / share_sum(load);
}

double mean_latency(const StorageLoad& load, const Scenario& scenario) {
  return mean(load, [&](const StorageLoad::Stream& stream) { return latency(load, stream, scenario); });
}

double line_limit(const StorageLoad& load, const Scenario& scenario) {
  const std::uint32_t mtu = scenario.hosts.path_mtu;
  const double to_initiator = mean(load, [&](const auto& stream) { return cost_of(load, stream, mtu).to_initiator; });
  const double to_target = mean(load, [&](const auto& stream) { return cost_of(load, stream, mtu).to_target; });
  return static_cast<double>(std::min(scenario.link.rate_bps, scenario.hosts.rate_bps)) / 8 /
         std::max(to_initiator, to_target);
}

StorageLoad deepened(const StorageLoad& load) {
  StorageLoad out = load;
  out.depth = std::max(load.depth, load.deep_depth);
  return out;
}

std::string words_for(const StorageResult& result) {
  if (result.limit == "iodepth") return "the I/Os in flight";
  if (result.limit == "nic_depth") return "the NIC's queue at the target";
  if (result.limit == "read_depth") return "the target's READs for large writes";
  return result.limit == "box" ? "the frame rate of the box" : "the line";
}

/// Frames of a box, with data or capsules, for one I/O.
double frames_of(const StorageLoad& load, const Scenario& scenario) {
  return mean(load, [&](const auto& stream) { return cost_of(load, stream, scenario.hosts.path_mtu).frames; });
}

/// The same, and what takes away a limit that is the box's.
std::string words_with_pair(const StorageLoad& load, const StorageResult& result, const Scenario& pair) {
  if (result.limit != "box") return words_for(result);
  const double workers =
      line_limit(load, pair) * frames_of(load, pair) * static_cast<double>(pair.pair.frame_time) / 1e9;
  return fmt::format("{}: {}", words_for(result),
                     box_remedy(static_cast<std::uint64_t>(std::ceil(workers)), pair.pair, load.queues));
}

/// One sentence, derived from the limits.
std::string advice(const StorageLoad& load, const Ways& three) {
  const StorageResult standard = predict(load, three.standard);
  const StorageResult pair = predict(load, three.pair);
  if (standard.limit == "line" && pair.per_second < standard.per_second)
    return fmt::format("The line is already full, and a pair like this would be slower ({:.0f} I/O/s, limited by {}).",
                       pair.per_second, words_with_pair(load, pair, three.pair));
  if (standard.limit == "line")
    return "The line is already full: more depth, more queues or the pair would add nothing.";
  const StorageResult deep = predict(deepened(load), three.deep);
  std::string out = fmt::format("The limit is {} ({:.0f} I/O/s): ", words_for(standard), standard.per_second);
  out += pair.per_second > standard.per_second * kWorthwhile
             ? fmt::format("the pair would help ({:.0f}, then it is {}), though an I/O keeps its round trips",
                           pair.per_second, words_with_pair(load, pair, three.pair))
             : "the pair would not help, because each I/O waits for the far end's own answer";
  out += deep.per_second > standard.per_second * kWorthwhile
             ? fmt::format("; deeper queues would ({:.0f}, then it is {})", deep.per_second, words_for(deep))
             : "; deeper queues would not";
  if (standard.limit == "read_depth") out += "; data within the capsule or more outstanding READs would";
  // All limits except the line's grow with the queues.
  const double line = line_limit(load, three.standard);
  const double queues = std::ceil(line / (standard.per_second / load.queues));
  out += fmt::format("; {:.0f} queues (now {}) fill the line ({:.0f}).", queues, load.queues, line);
  return out;
}

}  // namespace

unsigned round_trips(const StorageLoad& load, const StorageLoad::Stream& stream) {
  return fetch_of(load, stream) == Fetch::fetched ? 2 : 1;
}

double latency(const StorageLoad& load, const StorageLoad::Stream& stream, const Scenario& scenario) {
  const Cost cost = cost_of(load, stream, scenario.hosts.path_mtu);
  const double rate = static_cast<double>(std::min(scenario.link.rate_bps, scenario.hosts.rate_bps));
  return round_trips(load, stream) * static_cast<double>(scenario.link.round_trip + scenario.hosts.turnaround) / 1e9 +
         in_seconds(load.device_time) + 8 * (cost.to_initiator + cost.to_target) / rate;
}

StorageResult predict(const StorageLoad& load, const Scenario& scenario) {
  const Hosts& hosts = scenario.hosts;
  const double in_flight = static_cast<double>(load.queues) * load.depth;
  const double whole = in_seconds(scenario.link.round_trip + hosts.turnaround);
  const double local = scenario.pair.present ? in_seconds(scenario.pair.local_round_trip + hosts.turnaround) : whole;
  StorageResult out{in_flight / mean_latency(load, scenario), 0, 0, 0, "iodepth"};
  const auto bound = [&out](double per_second, const char* limit) {
    if (per_second < out.per_second) out.per_second = per_second, out.limit = limit;
  };
  const auto cost = [&](const StorageLoad::Stream& stream) { return cost_of(load, stream, hosts.path_mtu); };
  const double reads = mean(load, [&](const auto& stream) { return cost(stream).target_reads; });
  if (hosts.nic_depth != 0) {
    // A work request keeps its place in the NIC until it is answered: by a box, or for READ by the initiator.
    const double posts = mean(load, [&](const auto& stream) { return cost(stream).target_posts; });
    bound(nic_bound(load, hosts, posts, reads, local, whole), "nic_depth");
  }
  if (reads > 0) bound(static_cast<double>(load.queues) * hosts.read_depth / (reads * whole), "read_depth");
  if (scenario.pair.present) {
    bound(std::min(scenario.pair.workers, load.queues) * 1e9 / static_cast<double>(scenario.pair.frame_time) /
              frames_of(load, scenario),
          "box");
  }
  bound(line_limit(load, scenario), "line");
  out.behind_reads = share_behind_reads(out.per_second * reads / load.queues, whole);
  out.latency = in_flight / out.per_second;
  out.reads_bps = 8 * out.per_second *
                  mean(load, [](const auto& stream) { return stream.write ? 0.0 : static_cast<double>(stream.size); });
  out.writes_bps = 8 * out.per_second *
                   mean(load, [](const auto& stream) { return stream.write ? static_cast<double>(stream.size) : 0.0; });
  return out;
}

WorkloadAnswer answer(const Workload& workload, const StorageLoad& load, const Circumstances& circumstances) {
  Scenario scenario;
  scenario.link = circumstances.link;
  scenario.hosts = circumstances.hosts;
  scenario.pair = circumstances.pair;
  const Ways three = ways(scenario, circumstances.deep);
  struct LoadedWay {
    const char* name;
    const Scenario* scenario;
    StorageLoad load;
  };
  const LoadedWay all[] = {
      {"standard", &three.standard, load}, {"deep queues", &three.deep, deepened(load)}, {"pair", &three.pair, load}};

  Report report = begin_report(workload, circumstances);
  Table table("ways", "The mix", Kind::calculated,
              {{"way", "way", Column::Align::left, {}},
               {"in_flight", "I/Os in flight", Column::Align::right, {}},
               {"nic_depth", "NIC depth", Column::Align::right, {}},
               {"ios_per_second", "I/O/s", Column::Align::right, {}},
               {"latency_seconds", "mean latency, ms", Column::Align::right, {}},
               {"read_bits_per_second", "reads, Gbit/s", Column::Align::right, {}},
               {"write_bits_per_second", "writes, Gbit/s", Column::Align::right, {}},
               {"seconds", fmt::format("{} I/Os, s", load.ios), Column::Align::right, {}},
               {"limit", "limited by", Column::Align::left, {}}});
  for (const LoadedWay& way : all) {
    const StorageResult result = predict(way.load, *way.scenario);
    const double time = static_cast<double>(load.ios) / result.per_second;
    table.add({word(way.name),
               count(std::uint64_t{way.load.queues} * way.load.depth),
               count(way.scenario->hosts.nic_depth),
               {fmt::format("{:.0f}", result.per_second), result.per_second},
               {fmt::format("{:.3f}", result.latency * 1e3), result.latency},
               gigabits(result.reads_bps),
               gigabits(result.writes_bps),
               {fmt::format("{:.2f}", time), time},
               word(result.limit)});
  }
  report.tables.push_back(std::move(table));

  const double sum = share_sum(load);
  Table streams("streams", "Its I/Os, one alone", Kind::calculated,
                {{"size_bytes", "size", Column::Align::right, {}},
                 {"access", "access", Column::Align::left, {}},
                 {"operation", "operation", Column::Align::left, {}},
                 {"published_share", "share, %", Column::Align::right, Kind::published},
                 {"share", "scaled to all, %", Column::Align::right, {}},
                 {"round_trips", "round trips", Column::Align::right, {}},
                 {"latency_seconds", "latency, ms", Column::Align::right, {}}});
  for (const StorageLoad::Stream& stream : load.streams) {
    const double alone = latency(load, stream, three.standard);
    streams.add({size_cell(stream.size),
                 word(stream.random ? "random" : "sequential"),
                 word(stream.write ? "write" : "read"),
                 {fmt::format("{:g}", stream.share * 100), stream.share},
                 {fmt::format("{:.2f}", stream.share / sum * 100), stream.share / sum},
                 count(round_trips(load, stream)),
                 {fmt::format("{:.3f}", alone * 1e3), alone}});
  }
  report.tables.push_back(std::move(streams));

  const std::string sentence = advice(load, three);
  report.advice = sentence;
  report.facts["share_sum"] = sum;
  const double reads = mean(load, [](const auto& stream) { return stream.write ? 0.0 : 1.0; });
  report.facts["share_of_reads"] = reads;
  if (sum < 1 - 1e-9)
    report.notes.push_back(
        fmt::format("Only {:.1f} % of the I/Os are published: the given shares are scaled to all of them.", sum * 100));
  report.notes.push_back(
      fmt::format("{:.1f} % of these I/Os are reads. I/O/s x mean latency = I/Os in flight (Little); a write above {} "
                  "is fetched by "
                  "READ, which takes another round trip.",
                  reads * 100, size_text(load.in_capsule)));

  const double behind = predict(load, three.pair).behind_reads;
  report.facts["behind_reads"] = behind;
  if (behind > 0)
    report.notes.push_back(fmt::format(
        "With the pair, {:.0f} % of what the target sends stands behind an unfinished READ of large writes, and "
        "waits for its answer as without a pair: more data in the capsule (in_capsule, now {}) or more queues "
        "take that away.",
        behind * 100, size_text(load.in_capsule)));

  Plot plot;
  plot.title = fmt::format("{}, {}", workload.title, rate_text(static_cast<double>(scenario.link.rate_bps)));
  plot.x = {"distance, km of fibre", true, Axis::Marks::numbers};
  plot.y = {"I/O per second", true, Axis::Marks::numbers};
  for (const LoadedWay& way : all) {
    Series series{
        fmt::format("{} ({} I/Os in flight)", way.name, std::uint64_t{way.load.queues} * way.load.depth), {}, {}};
    series.marked = false;
    Scenario at = *way.scenario;
    for (const Duration round_trip : distances_between(microseconds(10), milliseconds(100))) {
      at.link.round_trip = round_trip;
      series.x.push_back(kilometres(round_trip));
      series.y.push_back(predict(way.load, at).per_second);
    }
    plot.series.push_back(std::move(series));
  }
  return {std::move(report), std::move(plot)};
}

}  // namespace longhaul::plan
