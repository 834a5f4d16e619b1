// SPDX-License-Identifier: BSD-3-Clause
#include "expose/history.hpp"

#include <algorithm>

namespace longhaul::expose {
namespace {

using Value = std::optional<double>;

double grown(std::uint64_t before, std::uint64_t after) { return static_cast<double>(after - std::min(before, after)); }

template <Side kSide, std::uint64_t PortStats::*kBytes>
Value bits_per_second(const Snapshot& before, const Snapshot& after, double seconds) {
  return 8 * grown(before.ports[kSide].stats.*kBytes, after.ports[kSide].stats.*kBytes) / seconds;
}

template <Counter kCounter>
Value per_second(const Snapshot& before, const Snapshot& after, double seconds) {
  return grown(before.total.counters[kCounter], after.total.counters[kCounter]) / seconds;
}

/// A quantile of what came between the two, in seconds.
Value quantile_between(const metrics::Histogram& before, const metrics::Histogram& after, double fraction) {
  if (after.count() <= before.count()) return std::nullopt;
  const double rank = fraction * static_cast<double>(after.count() - before.count());
  double seen = 0;
  for (std::size_t i = 0; i < metrics::Histogram::kBuckets; ++i) {
    seen += grown(before.bucket(i), after.bucket(i));
    if (seen > 0 && seen >= rank) return in_seconds(metrics::Histogram::upper_edge(i));
  }
  return std::nullopt;
}

template <int kPercent>
Value round_trip(const Snapshot& before, const Snapshot& after, double) {
  return quantile_between(before.total.wan_rtt, after.total.wan_rtt, kPercent / 100.0);
}

/// How busy the busiest worker was, 0 to 1.
Value busy(const Snapshot& before, const Snapshot& after, double) {
  Value most;
  for (std::size_t i = 0; i < std::min(before.workers.size(), after.workers.size()); ++i) {
    const double ran = grown(before.workers[i].report.activity.ran, after.workers[i].report.activity.ran);
    if (ran > 0)
      most = std::max(most.value_or(0),
                      grown(before.workers[i].report.activity.busy, after.workers[i].report.activity.busy) / ran);
  }
  return most;
}

std::uint64_t lost(const Snapshot& snapshot) {
  return snapshot.total.counters[Counter::failed_bytes] + snapshot.total.counters[Counter::failed_by_restart_bytes];
}

constexpr std::array<Column, kColumns> kTable = {{
    {"host_receive_bits", bits_per_second<Side::host, &PortStats::ibytes>},
    {"host_transmit_bits", bits_per_second<Side::host, &PortStats::obytes>},
    {"wan_receive_bits", bits_per_second<Side::wan, &PortStats::ibytes>},
    {"wan_transmit_bits", bits_per_second<Side::wan, &PortStats::obytes>},
    {"requests", per_second<Counter::requests>},
    {"pseudo_acks", per_second<Counter::pseudo_acks>},
    {"resends", per_second<Counter::resends>},
    {"custody_bytes",
     [](const Snapshot&, const Snapshot& after, double) -> Value {
       return static_cast<double>(after.total.custody_bytes);
     }},
    {"unconfirmed_bytes",
     [](const Snapshot&, const Snapshot& after, double) -> Value {
       return static_cast<double>(after.survey.unconfirmed_bytes);
     }},
    {"round_trip_p50", round_trip<50>},
    {"round_trip_p99", round_trip<99>},
    {"busy", busy},
    {"flows_failed", per_second<Counter::flows_failed>},
    {"lost_bytes",
     [](const Snapshot& before, const Snapshot& after, double seconds) -> Value {
       return grown(lost(before), lost(after)) / seconds;
     }},
    {"not_accelerated",
     [](const Snapshot&, const Snapshot& after, double) -> Value {
       const Asked& asked = after.survey.asked_lately;
       if (asked.all() == 0) return std::nullopt;
       return static_cast<double>(asked.not_accelerated()) / static_cast<double>(asked.all());
     }},
}};

}  // namespace

std::span<const Column, kColumns> history_columns() { return kTable; }

void History::add(const Snapshot& snapshot, Time now) {
  if (before_ && now > before_at_) {
    Sample sample;
    sample.time = snapshot.time;
    const double seconds = in_seconds(now - before_at_);
    for (std::size_t i = 0; i < kColumns; ++i) sample.values[i] = kTable[i].value(*before_, snapshot, seconds);
    samples_.push_back(sample);
    if (samples_.size() > length_) samples_.pop_front();
  }
  before_ = snapshot;
  before_at_ = now;
}

}  // namespace longhaul::expose
