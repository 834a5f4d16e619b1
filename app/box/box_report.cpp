// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/box_report.hpp"

#include <bit>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "app/process/port_report.hpp"
#include "metrics/counters.hpp"
#include "wire/frame.hpp"

namespace longhaul::app {
namespace {

void add_histogram(Json& out, const std::string& name, const metrics::Histogram& histogram) {
  out[name + "_ns_p50"] = histogram.quantile(0.5);
  out[name + "_ns_p99"] = histogram.quantile(0.99);
  out[name + "_ns_p99_9"] = histogram.quantile(0.999);
  out[name + "_ns_max"] = histogram.max();
  out[name + "_ns_count"] = histogram.count();
}

std::string parse_counter_name(std::size_t status) {
  return std::string(wire::name_of(static_cast<wire::ParseStatus>(status)));
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

}  // namespace

std::string histogram_table(std::string_view name, const metrics::Histogram& histogram) {
  if (histogram.count() == 0) return "";
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
  return fmt::format("  {}: p50 {:.1f} us, p99 {:.1f} us, p99.9 {:.1f} us, max {:.1f} us, of {}\n", name,
                     us(histogram.quantile(0.5)), us(histogram.quantile(0.99)), us(histogram.quantile(0.999)),
                     us(histogram.max()), histogram.count()) +
         bars(histogram);
}

BoxReport::BoxReport(const box::Worker& worker, const Activity& its)
    : counters(worker.counters()),
      custody_packets(worker.engine().custody_packets()),
      custody_bytes(worker.engine().custody_bytes()),
      link(worker.engine().link_state()),
      bypass(worker.engine().bypass()),
      draining(worker.engine().draining()),
      activity(its),
      pseudo_ack_delay(worker.engine().pseudo_ack_delay()),
      wan_rtt(worker.engine().wan_rtt()) {}

std::uint64_t BoxReport::not_gone() const {
  std::uint64_t gone = counters[Counter::forwarded_host] + counters[Counter::forwarded_wan];
  for (const Counter counter : metrics::kNotForwarded) gone += counters[counter];
  return counters[Counter::frames_host] + counters[Counter::frames_wan] - gone;
}

BoxReport& BoxReport::operator+=(const BoxReport& more) {
  counters += more.counters;
  custody_packets += more.custody_packets;
  custody_bytes += more.custody_bytes;
  waiting_frames += more.waiting_frames;
  link += more.link;
  bypass |= more.bypass;
  draining |= more.draining;
  activity.rounds += more.activity.rounds;
  activity.ran += more.activity.ran;
  activity.busy += more.activity.busy;
  pseudo_ack_delay += more.pseudo_ack_delay;
  wan_rtt += more.wan_rtt;
  return *this;
}

void add_engine(Json& out, const BoxReport& report) {
  const Counters& counters = report.counters;
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i)
    out[std::string(metrics::kCounterInfo[i].name)] = counters.events[i];
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i) out[parse_counter_name(i)] = counters.parsed[i];
  out["custody_packets"] = report.custody_packets;
  out["custody_bytes"] = report.custody_bytes;
  out["waiting_frames"] = report.waiting_frames;
  add_histogram(out, "pseudo_ack_delay", report.pseudo_ack_delay);
  add_histogram(out, "wan_rtt", report.wan_rtt);
}

Json worker_part(const BoxReport& report) {
  Json out;
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i)
    if (report.counters.events[i] != 0) out[std::string(metrics::kCounterInfo[i].name)] = report.counters.events[i];
  out["custody_packets"] = report.custody_packets;
  out["custody_bytes"] = report.custody_bytes;
  out["waiting_frames"] = report.waiting_frames;
  return out;
}

std::string workers_table(std::span<const BoxReport> workers) {
  std::string out;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Counters& counters = workers[i].counters;
    out += fmt::format("  worker {}: {} frames, {} pseudo-ACKs; handed {} to home workers, {} to owners; dropped {}\n",
                       i, counters[Counter::frames_host] + counters[Counter::frames_wan],
                       counters[Counter::pseudo_acks], counters[Counter::handed_home], counters[Counter::handed_over],
                       counters[Counter::dropped_ring_full]);
  }
  return out;
}

std::string engine_table(const BoxReport& report) {
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

}  // namespace longhaul::app
