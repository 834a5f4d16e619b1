// SPDX-License-Identifier: BSD-3-Clause
#include "sim/pair.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/plans.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

namespace {

bool is_loaded(const Case& c) { return c.a.load_mbps != 0 || c.b.load_mbps != 0; }

bool goes_wrong(const Case& c) { return !c.events.empty() || c.outage_us != 0; }

/// As if all requests and responses went one way: more than the fair share, never less.
double seconds_on_wan(const Case& c, const Work& work) {
  if (c.wan_mbps == 0) return 0;
  constexpr std::uint64_t kHeaders = 78;
  const std::uint64_t frame = kHeaders + c.line_overhead;
  std::uint64_t bytes = 0;
  for (const Message& m : work.messages()) bytes += m.bytes + (m.end - m.begin + (m.wants_response() ? 1 : 0)) * frame;
  return static_cast<double>(bytes) * 8 / static_cast<double>(c.wan_mbps * 1'000'000);
}

bool is_paced_below_link(const BoxPlan& box, const Case& c) {
  return box.wan_mbps != 0 && (c.wan_mbps == 0 || box.wan_mbps < c.wan_mbps);
}

/// The frames of both directions and their answers pass the same worker.
bool is_slower_than_link(const BoxPlan& box, const Case& c) {
  const bool both_ways = (c.a.messages != 0 || c.a.load_mbps != 0) && (c.b.messages != 0 || c.b.load_mbps != 0);
  return (both_ways ? 4 : 2) * box.frame_ns > least_frame_time(c);
}

bool either(const Case& c, bool (*is)(const BoxPlan&, const Case&)) { return is(c.box_a, c) || is(c.box_b, c); }

struct Exception {
  std::string_view name;
  bool (*holds)(const Case&);
};

constexpr Exception kExceptions[] = {
    {"a box crashes, and is dark", [](const Case& c) { return loses_a_box(c); }},
    {"a box stands still", [](const Case& c) { return c.box_a.pause_us != 0 || c.box_b.pause_us != 0; }},
    {"wan_rate below the real rate", [](const Case& c) { return either(c, is_paced_below_link); }},
    {"a worker slower than the link", [](const Case& c) { return either(c, is_slower_than_link); }},
    {"a give_up shorter than the host's patience",
     [](const Case& c) {
       const auto patience = [](const HostPlan& h) { return h.ack_timeout_us * (h.retry_count + 1) * 5 / 4; };
       return c.give_up_ms * 1000 < std::max(patience(c.a), patience(c.b));
     }},
    // With policy full a requester has completed everything before its responder has received everything.
    {"an application closes early", [](const Case& c) { return c.close != number_of(Closing::nobody); }},
    {"a fatal NAK after acknowledgement", [](const Case& c) { return c.a.fatal_at != 0 || c.b.fatal_at != 0; }},
};

double allowance(const Case& c, const HostPlan& host) {
  double more = in_seconds(round_trip(c));
  if (goes_wrong(c)) more += static_cast<double>(host.ack_timeout_us) / 1e6;
  // The load may have filled the link's queue before the connection in one run, and after it in the other.
  if (is_loaded(c) && c.wan_mbps != 0)
    more += static_cast<double>(c.wan_queue * 8) / static_cast<double>(c.wan_mbps * 1'000'000);
  return more;
}

/// Where nothing is lost for want of room, each connection must be as well off.
std::vector<std::string> worse_each(const Case& c, const Pair& pair) {
  std::vector<std::string> all;
  const double fair = fair_time(c);
  for (std::size_t i = 0; i < pair.without.deliveries.size() && i < pair.with.deliveries.size(); ++i) {
    const Delivery& without = pair.without.deliveries[i];
    const Delivery& with = pair.with.deliveries[i];
    if (!without.accepted) continue;
    if (with.died && !without.died) {
      all.push_back(fmt::format("{} dies with boxes only", with.flow));
      continue;
    }
    if (!with.accepted) {
      if (!without.died) all.push_back(fmt::format("{} is never delivered with boxes", with.flow));
      continue;
    }
    const HostPlan& host = host_plan(c, with.host);
    const double most = kMost * std::max(in_seconds(without.took), fair) + allowance(c, host);
    if (in_seconds(with.took) <= most) continue;
    all.push_back(fmt::format("{} took {:.6f} s with boxes, {:.6f} s without; {:.6f} s at most", with.flow,
                              in_seconds(with.took), in_seconds(without.took), most));
  }
  return all;
}

/// Which of several connections finds room in a full queue is luck, and so is which of them dies. As many must survive,
/// and the last of them must be done as early.
std::vector<std::string> worse_together(const Case& c, const Pair& pair) {
  const Fate without = fates_of(pair.without, true)[0], with = fates_of(pair.with, true)[0];
  if (with.lost > without.lost)
    return {fmt::format("{} connections are lost with boxes, {} without", with.lost, without.lost)};
  if (with.delivered < without.delivered)
    return {fmt::format("{} are delivered with boxes, {} without", with.delivered, without.delivered)};
  const double most = kMost * std::max(without.took, fair_time(c)) + allowance(c);
  if (with.delivered > without.delivered || with.took <= most) return {};
  return {fmt::format("the last took {:.6f} s with boxes, {:.6f} s without; {:.6f} s at most", with.took, without.took,
                      most)};
}

}  // namespace

Duration least_frame_time(const Case& c) {
  constexpr Number kHeaders = 64;
  if (c.wan_mbps == 0) return 0;
  const Number mtu = wire::path_mtu_bytes(static_cast<std::uint8_t>(c.mtu));
  Number bytes = mtu;
  for (const HostPlan* host : {&c.a, &c.b}) {
    if (host->messages != 0) bytes = std::min(bytes, host->uniform != 0 ? (host->max_bytes - 1) % mtu + 1 : 1);
    if (host->load_mbps != 0) bytes = std::min(bytes, host->load_bytes);
  }
  return (bytes + kHeaders) * 8000 / c.wan_mbps;
}

std::string_view excepted(const Case& c) {
  const auto* found = std::ranges::find_if(kExceptions, [&](const Exception& e) { return e.holds(c); });
  return found == std::end(kExceptions) ? std::string_view{} : found->name;
}

double fair_time(const Case& c) {
  if (c.connections == 1 && c.b.messages == 0 && !is_loaded(c)) return 0;
  double together = 0;
  for (unsigned h = 0; h < 2; ++h)
    for (unsigned n = 0; n < c.connections; ++n) together += seconds_on_wan(c, Work(work_plan(c, h, n, 0)));
  const auto load = static_cast<double>(std::max(c.a.load_mbps, c.b.load_mbps));
  return load == 0 || c.wan_mbps == 0 ? together : together / std::max(0.5, 1 - load / static_cast<double>(c.wan_mbps));
}

double allowance(const Case& c) { return std::max(allowance(c, c.a), allowance(c, c.b)); }

bool is_contested(const Pair& pair) { return pair.without.totals.queue_dropped != 0; }

std::vector<Fate> fates_of(const Result& result, bool together) {
  std::vector<Fate> fates(together ? 1 : result.deliveries.size());
  for (std::size_t i = 0; i < result.deliveries.size(); ++i) {
    const Delivery& delivery = result.deliveries[i];
    Fate& fate = fates[together ? 0 : i];
    fate.of = together ? "all" : delivery.flow;
    if (delivery.died || !delivery.accepted) ++fate.lost;
    if (!delivery.accepted) continue;
    ++fate.delivered;
    fate.took = std::max(fate.took, in_seconds(delivery.took));
  }
  return fates;
}

Case plain(Case c) {
  // A worker's time for a frame is a delay that any box adds, however it treats the frame.
  c.wan_delay_ns += c.box_a.frame_ns + c.box_b.frame_ns;
  c.box_a = c.box_b = BoxPlan{};
  c.box_a.present = c.box_b.present = 0;
  return c;
}

Result run_world(const Case& c, bool with_boxes, const engine::Pools& pools) {
  return World(with_boxes ? c : plain(c), pools).run();
}

Pair run_pair(const Case& c, const engine::Pools& pools) {
  return {run_world(c, false, pools), run_world(c, true, pools)};
}

std::vector<std::string> worse_off(const Case& c, const Pair& pair) {
  if (!excepted(c).empty()) return {};
  return is_contested(pair) ? worse_together(c, pair) : worse_each(c, pair);
}

}  // namespace longhaul::sim
