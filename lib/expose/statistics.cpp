// SPDX-License-Identifier: BSD-3-Clause
#include "expose/statistics.hpp"

#include <bit>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "metrics/counters.hpp"
#include "wire/frame.hpp"

namespace longhaul::expose {
namespace {

void add_histogram(Json& out, const std::string& name, const metrics::Histogram& histogram) {
  out[name + "_ns_p50"] = histogram.quantile(0.5);
  out[name + "_ns_p99"] = histogram.quantile(0.99);
  out[name + "_ns_p99_9"] = histogram.quantile(0.999);
  out[name + "_ns_max"] = histogram.max();
  out[name + "_ns_count"] = histogram.count();
}

void add_custody(Json& out, const WorkerReport& report) {
  out["custody_packets"] = report.custody_packets;
  out["custody_bytes"] = report.custody_bytes;
  out["waiting_frames"] = report.waiting_frames;
}

std::string parse_counter_name(std::size_t status) {
  return std::string(wire::name_of(static_cast<wire::ParseStatus>(status)));
}

std::string port_prefix(Side side) { return fmt::format("port_{}_", name_of(side)); }

/// One worker's part: the counters that are not zero, and custody.
Json worker_json(const WorkerReport& report) {
  Json out;
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i)
    if (report.counters.events[i] != 0) out[std::string(metrics::kCounterInfo[i].name)] = report.counters.events[i];
  add_custody(out, report);
  return out;
}

// One row for each power of two of microseconds that has values.
std::string bars(const metrics::Histogram& histogram) {
  constexpr std::uint64_t kWidth = 50;
  std::map<unsigned, std::uint64_t> rows;  // by exponent: up to 2^n us
  for (std::size_t i = 0; i < metrics::Histogram::kBuckets; ++i)
    if (histogram.bucket(i) != 0)
      rows[static_cast<unsigned>(std::bit_width(metrics::Histogram::upper_edge(i) / 1000))] += histogram.bucket(i);
  std::string out;
  for (const auto& [exponent, count] : rows)
    out += fmt::format("    under {:>8} us  {:>12}  {}\n", 1ull << exponent, count,
                       std::string((count * kWidth + histogram.count() - 1) / histogram.count(), '#'));
  return out;
}

/// A delay's quantiles and a row for each power of two of microseconds. Empty if it has no values.
std::string histogram_table(std::string_view name, const metrics::Histogram& histogram) {
  if (histogram.count() == 0) return "";
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
  return fmt::format("  {}: p50 {:.1f} us, p99 {:.1f} us, p99.9 {:.1f} us, max {:.1f} us, of {}\n", name,
                     us(histogram.quantile(0.5)), us(histogram.quantile(0.99)), us(histogram.quantile(0.999)),
                     us(histogram.max()), histogram.count()) +
         bars(histogram);
}

std::string counters_text(const WorkerReport& report) {
  std::string out;
  const Counters& counters = report.counters;
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i) {
    if (counters.events[i] != 0)
      out += report_line(metrics::kCounterInfo[i].name, counters.events[i], metrics::kCounterInfo[i].help);
  }
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i) {
    if (counters.parsed[i] != 0)
      out += report_line(parse_counter_name(i), counters.parsed[i], "frames with this result of parsing");
  }
  out += histogram_table("delay of pseudo-ACKs", report.pseudo_ack_delay);
  out += histogram_table("round trip on the WAN", report.wan_rtt);
  return out;
}

/// A line for each worker: what came in, what it handed over, what it dropped.
std::string workers_text(const std::vector<WorkerState>& workers) {
  std::string out;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Counters& counters = workers[i].report.counters;
    out +=
        fmt::format("  worker {}: {} frames, {} pseudo-ACKs; handed {} to home workers, {} to owners; dropped {}\n", i,
                    workers[i].report.received_frames(), counters[Counter::pseudo_acks], counters[Counter::handed_home],
                    counters[Counter::handed_over], counters[Counter::dropped_ring_full]);
  }
  return out;
}

}  // namespace

Json counters_json(const Snapshot& snapshot) {
  const WorkerReport& total = snapshot.total;
  Json out;
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i)
    out[std::string(metrics::kCounterInfo[i].name)] = total.counters.events[i];
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i) out[parse_counter_name(i)] = total.counters.parsed[i];
  add_custody(out, total);
  add_histogram(out, "pseudo_ack_delay", total.pseudo_ack_delay);
  add_histogram(out, "wan_rtt", total.wan_rtt);
  return out;
}

Json statistics_json(const Snapshot& snapshot) {
  Json out;
  out["name"] = snapshot.identity.name;
  out["icrc_routine"] = snapshot.identity.icrc;
  out.update(counters_json(snapshot));
  for (const Side side : kSides) add_port_figures(out, port_prefix(side), snapshot.ports[side].stats);
  if (snapshot.workers.size() > 1)
    for (const WorkerState& worker : snapshot.workers) out["workers"].push_back(worker_json(worker.report));
  return out;
}

std::string statistics_text(const Snapshot& snapshot) {
  std::string out = counters_text(snapshot.total);
  if (snapshot.workers.size() > 1) out += workers_text(snapshot.workers);
  for (const Side side : kSides) out += port_table(port_prefix(side), snapshot.ports[side].stats);
  return out;
}

}  // namespace longhaul::expose
