// SPDX-License-Identifier: BSD-3-Clause
#include "pairs_nics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "program.hpp"
#include "sim/nic_families.hpp"
#include "sim/plans.hpp"

namespace longhaul::test {

namespace {

double part_of(const std::vector<double>& sorted, double part) {
  const auto place = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
  return sorted[std::min(place, sorted.size() - 1)];
}

bool lives(const sim::Delivery& delivery) { return delivery.accepted && !delivery.died; }

}  // namespace

NicTimes::Row& NicTimes::row_of(const sim::HostPlan& host) {
  if (rows_.size() <= host.nic) rows_.resize(host.nic + 1);
  return rows_[host.nic];
}

void NicTimes::add(const sim::Case& c, const sim::Pair& pair, bool worse) {
  if (worse) ++worse_worlds_;
  for (const sim::HostPlan* host : {&c.a, &c.b}) {
    if (host->messages == 0) continue;
    Row& row = row_of(*host);
    ++row.worlds;
    if (worse) ++row.worse;
  }
  for (std::size_t i = 0; i < pair.without.deliveries.size() && i < pair.with.deliveries.size(); ++i) {
    const sim::Delivery& without = pair.without.deliveries[i];
    const sim::Delivery& with = pair.with.deliveries[i];
    Row& row = row_of(sim::host_plan(c, with.host));
    if (lives(without) && !lives(with)) ++row.lost;
    if (lives(with) && !lives(without)) ++row.saved;
    if (lives(with) && lives(without) && without.took != 0)
      row.ratios.push_back(static_cast<double>(with.took) / static_cast<double>(without.took));
  }
}

void NicTimes::add(const NicTimes& others) {
  worse_worlds_ += others.worse_worlds_;
  if (rows_.size() < others.rows_.size()) rows_.resize(others.rows_.size());
  for (std::size_t i = 0; i < others.rows_.size(); ++i) {
    Row& row = rows_[i];
    const Row& other = others.rows_[i];
    row.ratios.insert(row.ratios.end(), other.ratios.begin(), other.ratios.end());
    row.worlds += other.worlds;
    row.worse += other.worse;
    row.lost += other.lost;
    row.saved += other.saved;
  }
}

void NicTimes::print() const {
  fmt::print("{:<14} {:>7} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6}\n", "requester's NIC", "worlds",
             "worse", "flows", "p10", "p50", "p90", "p99", "most", "lost", "saved");
  for (std::size_t nic = 0; nic < rows_.size(); ++nic) {
    const Row& row = rows_[nic];
    if (row.worlds == 0) continue;
    std::vector<double> sorted = row.ratios;
    std::ranges::sort(sorted);
    sim::HostPlan host;
    host.nic = nic;
    fmt::print("{:<15} {:>7} {:>6} {:>7}", sim::nic_name(host), row.worlds, row.worse, sorted.size());
    for (const double part : {0.1, 0.5, 0.9, 0.99, 1.0})
      fmt::print(" {:>7}", sorted.empty() ? "-" : fmt::format("{:.3f}", part_of(sorted, part)));
    fmt::print(" {:>6} {:>6}\n", row.lost, row.saved);
  }
  fmt::print("(times with boxes, relative to without; flows lost with boxes only, and saved by them)\n");
}

void NicTimes::write(int pipe) const {
  const std::uint64_t head[] = {worse_worlds_, rows_.size()};
  write_all(pipe, head, sizeof(head));
  for (const Row& row : rows_) {
    const std::uint64_t numbers[] = {row.ratios.size(), row.worlds, row.worse, row.lost, row.saved};
    write_all(pipe, numbers, sizeof(numbers));
    write_all(pipe, row.ratios.data(), row.ratios.size() * sizeof(double));
  }
}

NicTimes NicTimes::read(int pipe) {
  NicTimes times;
  std::uint64_t head[2];
  read_all(pipe, head, sizeof(head));
  times.worse_worlds_ = head[0];
  times.rows_.resize(head[1]);
  for (Row& row : times.rows_) {
    std::uint64_t numbers[5];
    read_all(pipe, numbers, sizeof(numbers));
    row = {std::vector<double>(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4]};
    read_all(pipe, row.ratios.data(), row.ratios.size() * sizeof(double));
  }
  return times;
}

}  // namespace longhaul::test
