// SPDX-License-Identifier: BSD-3-Clause
#include "plan/buffer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "box/memory_plan.hpp"
#include "config/box_config.hpp"
#include "config/quantity.hpp"
#include "custody/rtt.hpp"
#include "engine/settings.hpp"
#include "plan/depth.hpp"
#include "plan/framing.hpp"
#include "plan/text.hpp"
#include "plan/timers.hpp"

namespace longhaul::plan {
namespace {

constexpr double kNoticed = 1.05;  // a loss of rate below this factor is within the formulas' error
constexpr std::uint32_t kLargestPathMtu = 4096;
constexpr double kRare = 1e-3;         // share of the round trips that need more repairs than planned
constexpr unsigned kMostRepairs = 64;  // after this many, any loss rate below 80 % is repaired

/// The probability that a round trip has a packet that is lost `times` times in a row.
double chance(double loss, unsigned times, double packets) {
  // 1 - (1 - p^k)^n, without loss of precision for small numbers.
  return -std::expm1(packets * std::log1p(-std::pow(loss, times)));
}

/// The timer doubles each time, as the engine's settings allow.
Duration timer_after(Duration timer, unsigned doublings) {
  const Duration most = std::max(timer, engine::Settings{}.rto_max);
  Duration out = timer;
  while (doublings-- > 0 && out < most) out = std::min(2 * out, most);
  return out;
}

/// Time from first transmission to release with this many repairs.
Duration in_custody(Duration round_trip, unsigned repairs) {
  if (repairs == 0) return round_trip;
  Duration waiting = round_trip;  // until the responder's NAK arrives
  for (unsigned again = 1; again < repairs; ++again) waiting += timer_after(resend_timer(round_trip), again - 1);
  return waiting + round_trip;
}

Duration after_outage(Duration round_trip, Duration outage) {
  // The timer starts with the last answer, which arrives in the first round trip of the outage. In the worst case a
  // probe is sent just before the outage ends, so that only the next one gets through.
  Duration worst = 0;
  Duration before = 0;  // from the last answer to a lost probe
  for (unsigned n = 0; before <= outage; ++n) {
    const Duration next = before + timer_after(resend_timer(round_trip), n);
    const Duration start = n == 0 ? round_trip : std::min(round_trip, outage - before);
    if (start + next >= outage) worst = std::max(worst, start + next);
    before = next;
  }
  return worst + round_trip;
}

std::string exact_rate(std::uint64_t bps) {
  return bps % 1'000'000'000 == 0 ? fmt::format("{}Gbps", bps / 1'000'000'000) : fmt::format("{}bps", bps);
}

std::uint64_t under_way(const Link& link, Duration time) {
  return box::CustodyPromise::bytes_under_way(link.rate_bps, time);
}

/// What decides about the memory, and what would change it.
std::string advice(const BufferQuestion& question, const Custody& custody) {
  const auto bytes = [&](Duration time) { return bytes_text(static_cast<double>(under_way(question.link, time))); };
  const std::string path = bytes(question.link.round_trip);
  std::string out =
      fmt::format("{} in custody keep the line full over this path; more would not be faster.", bytes(custody.time));
  if (custody.after_outage > std::max(custody.repaired, question.link.round_trip))
    out = fmt::format(
        "The outage decides: {} in custody hide it, {} would do for the path alone; a shorter outage, or less to send "
        "during it, would help.",
        bytes(custody.time), path);
  else if (custody.repairs > 0)
    out = fmt::format("Losses decide: {} in custody instead of {} for the path alone; a cleaner path would help.",
                      bytes(custody.time), path);
  if (custody.connection_bps < static_cast<double>(question.link.rate_bps) / kNoticed)
    out += fmt::format(
        " With more memory boxes alone would not make one connection faster than {}: more connections would, or boxes "
        "that are peers.",
        rate_text(custody.connection_bps));
  if (question.path_mtu < kLargestPathMtu)
    out += " A path MTU of 4096 would take fewer buffers, and fewer cycles a byte.";
  return out;
}

}  // namespace

Duration resend_timer(Duration round_trip) {
  const engine::Settings settings;
  custody::RttEstimator steady;
  // The variation about halves with each sample: after 200 samples nothing is left of it.
  for (int i = 0; i < 200; ++i) steady.sample(round_trip, 0);
  return steady.timeout(settings.rto_initial, settings.rto_min, std::max(settings.rto_max, 2 * round_trip));
}

Custody custody_for(const BufferQuestion& question) {
  const Duration round_trip = question.link.round_trip;
  Custody out;
  out.packets_under_way = static_cast<double>(bandwidth_delay_bytes(question.link.rate_bps, round_trip)) /
                          full_frame({question.path_mtu, false, 0});
  const double packets = std::max(1.0, out.packets_under_way);
  out.losses = question.loss * out.packets_under_way;
  while (out.repairs < kMostRepairs && chance(question.loss, out.repairs + 1, packets) > kRare) ++out.repairs;
  out.expected_seconds = in_seconds(round_trip);
  for (unsigned k = 1; k <= kMostRepairs && question.loss > 0; ++k)
    out.expected_seconds +=
        chance(question.loss, k, packets) * in_seconds(in_custody(round_trip, k) - in_custody(round_trip, k - 1));
  out.repaired = in_custody(round_trip, out.repairs);
  if (question.outage > 0) out.after_outage = after_outage(round_trip, question.outage);
  out.time = std::max(out.repaired, out.after_outage);
  // A configuration has a minimum custody. On a short path it takes longer than a round trip to fill.
  const Duration least = static_cast<Duration>(
      std::ceil(static_cast<double>(config::kLeastCustody) * 8e9 / static_cast<double>(question.link.rate_bps)));
  out.time = std::max({out.time, least, microseconds(1)});
  out.bytes = under_way(question.link, out.time);
  // Each loss costs a round trip until its NAK arrives; everything sent after the loss is sent again.
  out.connection_bps = static_cast<double>(question.link.rate_bps) / (1 + out.losses);
  if (out.repairs > 0) out.reorder_bytes = under_way(question.link, out.repairs * round_trip);
  return out;
}

std::string configuration(const BufferQuestion& question, const Custody& custody, const std::string& made_by) {
  const engine::Settings usual;
  const Duration timer = resend_timer(question.link.round_trip);
  const Duration rto_max = std::max(usual.rto_max, 2 * timer);
  const std::uint64_t window =
      std::clamp(under_way(question.link, question.link.round_trip), config::kLeastInitialWindow, custody.bytes);
  std::string out =
      "# SPDX-License-Identifier: BSD-3-Clause\n# yaml-language-server: $schema=/usr/share/longhaul/box.schema.json\n";
  out += fmt::format("# Calculated by `{}`.\n", made_by);
  out +=
      "# The ports are examples; `dpdk-devbind.py --status-dev net` lists yours. `longhaul run --check` shows the "
      "memory.\n";
  out += "name: box\nports:\n  host: {pci: \"0000:01:00.0\"}\n  wan: {pci: \"0000:01:00.1\"}\n";
  out += fmt::format("mtu: {:<16} # path MTU {} and its headers must pass\n", question.mtu, question.path_mtu);
  out += fmt::format("wan_rate: {}\n", exact_rate(question.link.rate_bps));
  out += "custody:\n";
  out += fmt::format("  round_trip: {:<9} # how long a packet stays: {} on the path{}\n",
                     config::duration_text(custody.time), time_text(in_seconds(question.link.round_trip)),
                     custody.repairs > 0 || custody.after_outage > 0 ? ", and the time of repairs" : "");
  out += fmt::format("  rate: {}\n", exact_rate(question.link.rate_bps));
  out += fmt::format("  least_frame: {}B\n", question.least_frame);
  out += fmt::format("  flow_limit: {}B # one connection may fill the path\n", custody.bytes);
  out += fmt::format(
      "  initial_window: {}B # rate x round trip: without it a connection begins with 1MiB and doubles\n", window);
  out += fmt::format("connections: {}\n", question.connections);
  out += "timers:\n";
  out += fmt::format("  rto_initial: {}\n  rto_min: {}\n  rto_max: {}\n  give_up: {}\n",
                     config::duration_text(std::max(usual.rto_initial, timer)), config::duration_text(usual.rto_min),
                     config::duration_text(rto_max), config::duration_text(std::max(usual.give_up, 4 * rto_max)));
  return out;
}

Report report(const BufferQuestion& question, const Custody& custody, const BoxMemoryNeed& memory,
              const std::string& config) {
  const Link& link = question.link;
  const double round_trip = in_seconds(link.round_trip);
  const double path = static_cast<double>(under_way(link, link.round_trip));
  Report out;
  out.title =
      fmt::format("{}, round trip {} ({}), loss {:g}{}: calculated", rate_text(static_cast<double>(link.rate_bps)),
                  time_text(round_trip), path_text(link.round_trip), question.loss,
                  question.outage == 0 ? "" : fmt::format(", outages of {}", time_text(in_seconds(question.outage))));
  Table times("custody", "A packet in the near box's custody", Kind::calculated,
              {{"case", "case", Column::Align::left, {}},
               {"seconds", "held for, ms", Column::Align::right, {}},
               {"bytes", "in custody, MiB", Column::Align::right, {}}});
  const auto add = [&](std::string what, double time, double bytes) {
    times.add({word(std::move(what)),
               {fmt::format("{:.6g}", time * 1e3), time},
               {fmt::format("{:.6g}", bytes / (1 << 20)), bytes}});
  };
  const double rate = static_cast<double>(link.rate_bps) / 8;
  add("nothing lost", round_trip, path);
  if (question.loss > 0) {
    add("expected", custody.expected_seconds, custody.expected_seconds * rate);
    add(fmt::format("999 of 1000 round trips: sent again {} time{} at most", custody.repairs,
                    custody.repairs == 1 ? "" : "s"),
        in_seconds(custody.repaired), static_cast<double>(under_way(link, custody.repaired)));
  }
  if (question.outage > 0)
    add("sent when the outage began, at worst", in_seconds(custody.after_outage),
        static_cast<double>(under_way(link, custody.after_outage)));
  add("promised by the configuration", in_seconds(custody.time), static_cast<double>(memory.promised));
  out.tables.push_back(std::move(times));

  Table table("memory", "Memory", Kind::calculated,
              {{"what", "of a box", Column::Align::left, {}}, {"bytes", "MiB", Column::Align::right, {}}});
  const auto amount = [&](std::string what, std::uint64_t bytes) {
    table.add({word(std::move(what)), {fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 20)), bytes}});
  };
  amount("hugepages to reserve", memory.reserve);
  amount("ordinary memory, with all connections in use", memory.ordinary);
  amount("what a far box that is a peer holds, of its own custody's buffers", custody.reorder_bytes);
  out.tables.push_back(std::move(table));

  out.notes.push_back(
      fmt::format("Buffers hold frames of {} B and more ({} connections, ports of MTU {}). This is custody for what "
                  "the hosts behind this box send; the box at the other end needs its own.",
                  question.least_frame, question.connections, question.mtu));
  if (question.loss > 0)
    out.notes.push_back(fmt::format(
        "{:.3g} of {:.0f} packets under way are lost in a round trip; the responder discards what follows a gap, so "
        "one connection alone gets at most {} of the line. With more connections each has fewer losses.",
        custody.losses, custody.packets_under_way, rate_text(custody.connection_bps)));
  out.appendix = "\nConfiguration for `longhaul run` (--config prints only this):\n\n" + config;

  Json& facts = out.facts;
  facts["kind"] = name_of(Kind::calculated);
  facts["rate_bits_per_second"] = link.rate_bps;
  facts["round_trip_seconds"] = round_trip;
  facts["loss"] = question.loss;
  facts["outage_seconds"] = in_seconds(question.outage);
  facts["bandwidth_delay_bytes"] = bandwidth_delay_bytes(link.rate_bps, link.round_trip);
  facts["packets_under_way"] = custody.packets_under_way;
  facts["losses_per_round_trip"] = custody.losses;
  facts["repairs"] = custody.repairs;
  facts["resend_timer_seconds"] = in_seconds(resend_timer(link.round_trip));
  facts["custody_seconds"] = in_seconds(custody.time);
  facts["promised_bytes"] = memory.promised;
  facts["reserve_bytes"] = memory.reserve;
  facts["ordinary_bytes"] = memory.ordinary;
  facts["far_box_held_bytes"] = custody.reorder_bytes;
  facts["connection_bits_per_second"] = custody.connection_bps;
  facts["configuration"] = config;
  warn_of_timers(link.round_trip, out);
  out.advice = advice(question, custody);
  return out;
}

Plot plot(const BufferQuestion& question) {
  constexpr Duration kReach = 10;
  const Duration middle = std::max<Duration>(question.link.round_trip, 100);
  Plot out;
  out.title = fmt::format("Custody for {}", rate_text(static_cast<double>(question.link.rate_bps)));
  out.x = {"distance, km of fibre", true, Axis::Marks::numbers};
  out.y = {"in custody, MiB", true, Axis::Marks::numbers};
  struct Case {
    std::string name;
    double loss;
    Duration outage;
  };
  std::vector<Case> cases = {{"nothing lost", 0, 0}};
  if (question.loss > 0)
    cases.push_back({fmt::format("loss {:g}, 999 of 1000 round trips", question.loss), question.loss, 0});
  if (question.outage > 0)
    cases.push_back({fmt::format("outage of {}", time_text(in_seconds(question.outage))), 0, question.outage});
  for (const Case& one : cases) {
    Series series{one.name, {}, {}};
    series.marked = false;
    BufferQuestion at = question;
    at.loss = one.loss;
    at.outage = one.outage;
    for (const Duration round_trip : distances_between(middle / 100, middle * kReach)) {
      at.link.round_trip = round_trip;
      series.x.push_back(kilometres(round_trip));
      series.y.push_back(static_cast<double>(custody_for(at).bytes) / (1 << 20));
    }
    out.series.push_back(std::move(series));
  }
  return out;
}

}  // namespace longhaul::plan
