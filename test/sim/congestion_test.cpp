// SPDX-License-Identifier: BSD-3-Clause
// Hosts with DCQCN ten times as fast as the WAN, and nothing else on it: boxes tell them to slow down, and the WAN
// stays full, custody has room, and connections share alike.
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>

#include "pools.hpp"
#include "sim/world.hpp"

using namespace longhaul;
using sim::Case;
using sim::number_of;

namespace {

/// 16 connections post all their work at once, at line rate. RDMA-CM confirms them, or the first answer.
Case bottleneck(sim::Congestion control, bool confirm_cm) {
  Case c;
  c.close = number_of(sim::Closing::nobody);
  c.connections = 16;
  c.apart_us = 0;
  c.mtu = 5;
  c.wan_delay_us = 5000;
  c.wan_mbps = 1000;
  c.wan_queue = 1'000'000;
  c.box_a.wan_mbps = c.box_b.wan_mbps = 1000;
  c.box_a.mbufs = c.box_b.mbufs = 8192;
  c.box_a.cnp = c.box_b.cnp = 1;
  c.box_a.confirm_cm = c.box_b.confirm_cm = confirm_cm ? 1 : 0;
  c.a.messages = 96;
  c.a.mix = number_of(sim::Mix::write_only);
  c.a.uniform = 1;
  c.a.max_bytes = 65536;
  c.a.depth = 96;
  c.a.window = 65536;
  c.a.burst = 64;
  c.a.port_mbps = c.b.port_mbps = 10'000;
  c.a.congestion = number_of(control);
  c.a.ack_timeout_us = 500'000;
  return c;
}

/// What happened at the WAN, and to each connection.
struct SeenAtWan {
  explicit SeenAtWan(const Case& c)
      : world(c, test::sim_pools(),
              [this](Duration at, const char* where, const sim::View& view) { note(at, where, view); }),
        result(world.run()) {}

  void note(Duration at, const char* where, const sim::View& view) {
    const std::string_view place(where);
    if (!view.reliable() || view.frame.opcode->is_response()) return;
    if (place == "A > " && view.psn() != 0) first = std::min(first, at);
    if (place != "> B ") return;
    last = std::max(last, at);
    bytes += view.bytes.size();
    auto& of = arrived[view.qpn()];
    of.emplace_back(at, view.bytes.size());
  }

  /// Bytes that came to B between two times, by connection.
  std::vector<double> between(Duration from, Duration until) const {
    std::vector<double> sums;
    for (const auto& [qpn, frames] : arrived) {
      double sum = 0;
      for (const auto& [at, size] : frames)
        if (at >= from && at < until) sum += static_cast<double>(size);
      sums.push_back(sum);
    }
    return sums;
  }

  Duration first = kNever, last = 0;
  std::uint64_t bytes = 0;
  std::map<std::uint32_t, std::vector<std::pair<Duration, std::size_t>>> arrived;
  sim::World world;
  sim::Result result;
};

double sum_of(const std::vector<double>& all) {
  double sum = 0;
  for (const double one : all) sum += one;
  return sum;
}

double jain(const std::vector<double>& all) {
  double squares = 0;
  for (const double one : all) squares += one * one;
  return sum_of(all) * sum_of(all) / (static_cast<double>(all.size()) * squares);
}

}  // namespace

TEST_CASE("a quiet 10:1 bottleneck with DCQCN hosts: the WAN stays full, nothing is dropped, connections share alike",
          "[figures]") {
  const auto control = GENERATE(sim::Congestion::dcqcn, sim::Congestion::dcqcn_vendor);
  const bool confirm_cm = GENERATE(true, false);
  const Case c = bottleneck(control, confirm_cm);
  const SeenAtWan seen(c);
  if (seen.result.violation) FAIL(seen.result.violation->text);
  const Duration round_trip = 2 * microseconds(c.wan_delay_us);
  // Until nine tenths have arrived: then the first connections are done.
  const Duration from = seen.first + round_trip;
  const Duration until = seen.first + (seen.last - seen.first) * 9 / 10;
  const std::vector<double> shares = seen.between(from, until);
  const double rate = sum_of(shares) * 8000 / static_cast<double>(until - from);
  const double fairness = jain(shares);
  const auto& totals = seen.result.totals;
  std::printf(
      "10:1 bottleneck, DCQCN %s, confirm: %s: %.0f Mbit/s of %llu, Jain's index %.4f over %zu connections, "
      "%llu frames dropped, %llu requests without custody, %llu CNPs\n",
      control == sim::Congestion::dcqcn ? "(paper)" : "(NVIDIA)", confirm_cm ? "cm" : "answer", rate,
      static_cast<unsigned long long>(c.wan_mbps), fairness, shares.size(),
      static_cast<unsigned long long>(totals.queue_dropped), static_cast<unsigned long long>(totals.refused_custody),
      static_cast<unsigned long long>(totals.cnps_made));
  CHECK(totals.queue_dropped == 0);  // nor in the first round trip
  CHECK(totals.refused_custody == 0);
  CHECK(shares.size() == c.connections);
  CHECK(rate >= 0.95 * static_cast<double>(c.wan_mbps));
  CHECK(fairness >= 0.95);
}

TEST_CASE("the same bottleneck without CNPs: custody overflows, and the link drops", "[figures]") {
  Case c = bottleneck(sim::Congestion::dcqcn, true);
  c.box_a.cnp = c.box_b.cnp = 0;
  const SeenAtWan seen(c);
  if (seen.result.violation) FAIL(seen.result.violation->text);
  CHECK(seen.result.totals.refused_custody > 0);
  CHECK(seen.result.totals.queue_dropped > 0);
}

TEST_CASE("the same bottleneck, unconfirmed at first: CNPs come in the first round trip", "[figures]") {
  Case c = bottleneck(sim::Congestion::dcqcn, false);
  const auto flood = [&c](sim::Number cnp) {
    c.box_a.cnp = cnp;
    std::uint64_t frames = 0;
    Duration began = kNever;
    const auto count = [&](Duration at, const char* where, const sim::View& view) {
      if (std::string_view(where) != "A > " || !view.reliable()) return;
      began = std::min(began, at);
      if (at < began + 2 * microseconds(c.wan_delay_us)) ++frames;
    };
    const auto result = sim::World(c, test::sim_pools(), count).run();
    if (result.violation) FAIL(result.violation->text);
    return frames;
  };
  const std::uint64_t told = flood(1), untold = flood(0);
  std::printf("frames that hosts send in the first round trip: %llu, without CNPs %llu\n",
              static_cast<unsigned long long>(told), static_cast<unsigned long long>(untold));
  CHECK(told * 3 < untold);
}
