// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "plan/framing.hpp"
#include "plan/predict.hpp"
#include "sim/world.hpp"
#include "wire/path_mtu.hpp"

namespace longhaul::plan {

namespace {

constexpr std::uint64_t kMostPackets = 4'000'000;   // of a QP: half of the range of wire::psn_diff()
constexpr std::uint64_t kMostMessages = 4'000'000;  // of a QP
constexpr std::uint32_t kMostQps = 256;             // sim::qpn_of() has this many for each host
constexpr std::uint64_t kUsualPackets = 400'000;    // of all QPs: seconds of processor time
constexpr std::uint32_t kSlack = 16384;             // buffers of a world beside those of frames under way
constexpr std::uint64_t kMega = 1'000'000;
constexpr std::uint64_t kMinimumTimeout = 67'108'864;  // ns: perftest's request, 4.096 us * 2^14

std::uint64_t packets_per_message(const Scenario& s) { return plan::packets_of(s.message, s.hosts.path_mtu); }

std::uint64_t line_rate(const Scenario& s) { return std::min(s.link.rate_bps, s.hosts.rate_bps); }

/// Bytes that the slower line carries in a round trip, including both hosts' segments.
std::uint64_t bytes_in_round_trip(const Scenario& s) {
  const Duration whole = s.link.round_trip + 2 * s.pair.local_round_trip;
  return static_cast<std::uint64_t>(static_cast<double>(line_rate(s)) / 8e9 * static_cast<double>(whole));
}

sim::Mix mix_of(Operation operation) {
  switch (operation) {
    case Operation::write:
      return sim::Mix::write_only;
    case Operation::send:
      return sim::Mix::send_only;
    case Operation::read:
      break;
  }
  return sim::Mix::read_only;
}

sim::Number mbps(std::uint64_t bps, const char* what) {
  if (bps % kMega != 0 || bps == 0 || bps > kMega * kMega)
    throw std::invalid_argument(
        fmt::format("{} of {} bit/s: the testbed supports whole Mbit/s, 1 to 1000000", what, bps));
  return bps / kMega;
}

sim::Case case_of(const Run& run) {
  const Scenario& s = run.scenario;
  sim::Case c;
  c.seed = run.seed;
  c.connections = s.hosts.qps;
  c.apart_us = 0;
  c.line_overhead = outside_frame();
  c.wan_mbps = mbps(s.link.rate_bps, "a link");
  const Duration one_way = s.link.round_trip / 2;
  c.wan_delay_us = one_way / 1000;
  c.wan_delay_ns = one_way % 1000;
  c.wan_queue = std::max<std::uint64_t>(64 << 20, bytes_in_round_trip(s));
  c.local_ns = s.pair.present ? s.pair.local_round_trip / 2 : 0;
  std::uint8_t code = 1;
  while (wire::path_mtu_bytes(code) < s.hosts.path_mtu && code < 5) ++code;
  c.mtu = code;
  // Long enough for custody to empty before the DREQ goes, over any distance.
  c.dreq_hold_ms = std::max<sim::Number>(3000, 4 * s.link.round_trip / kMega);
  c.cm_timeout_us = std::max<sim::Number>(4'300'000, 8 * s.link.round_trip / 1000);
  for (auto& way : c.harm[sim::kLongHaul]) way.loss_ppm = run.loss_ppm;

  sim::HostPlan& a = c.a;
  a.messages = run.messages;
  a.mix = sim::number_of(mix_of(s.operation));
  a.max_bytes = s.message;
  a.uniform = 1;
  a.warm_up = 1;  // as perftest -R: the hosts exchange keys by a SEND before the measurement starts
  a.depth = s.hosts.depth;
  a.nic_depth = s.hosts.nic_depth;
  a.initiator_depth = s.hosts.read_depth;
  a.moderation = s.hosts.moderation;
  a.turnaround_ns = s.hosts.turnaround;
  a.message_ns = s.hosts.message_time;
  a.window = 1 << 22;
  a.burst = 1;
  a.ack_timeout_us = std::max(kMinimumTimeout, 4 * s.link.round_trip) / 1000;
  a.port_mbps = c.b.port_mbps = mbps(s.hosts.rate_bps, "a host's port");
  // Host B announces the resources that host A's READs need.
  c.b.initiator_depth = a.initiator_depth;

  const std::uint64_t under_way = bytes_in_round_trip(s);
  if (run.peers) c.starts_us = 400'000 + 10 * s.link.round_trip / 1000;  // they have met by then
  for (sim::BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->present = s.pair.present ? 1 : 0;
    box->frame_ns = s.pair.frame_time / std::min(s.pair.workers, s.hosts.qps);
    // As `plan buffer` configures a box.
    box->box_bytes = box->flow_bytes = (run.peers ? 3 : 2) * under_way + (64 << 20);
    box->window_bytes = std::max<std::uint64_t>(1 << 20, (run.peers ? 2 : 1) * under_way);
    box->peer = sim::number_of(run.peers ? sim::BoxPeer::peer : sim::BoxPeer::none);
    box->wan_mbps = c.wan_mbps;
    box->mbufs = 1 << 20;
  }
  return c;
}

}  // namespace

std::uint64_t usual_messages(const Scenario& s) {
  constexpr double kRoundTrips = 3;
  constexpr std::uint64_t kPerftest = 5000;
  const double steady = predict(s).messages_per_second / s.hosts.qps;
  const auto wanted = static_cast<std::uint64_t>(kRoundTrips * steady * static_cast<double>(s.link.round_trip) / 1e9);
  const std::uint64_t most = std::max<std::uint64_t>(1, kUsualPackets / packets_per_message(s) / s.hosts.qps);
  return std::min(std::max(wanted, kPerftest), most);
}

engine::PoolPlan pools_for(const Run& run) {
  const Scenario& s = run.scenario;
  const std::uint64_t packets = packets_per_message(s);
  if (run.messages == 0 || run.messages > kMostMessages || run.messages * packets > kMostPackets)
    throw std::invalid_argument(fmt::format(
        "{} messages of {} packets: the testbed supports 1 to {} packets on a QP, at most {} messages of this size",
        run.messages, packets, kMostPackets, kMostPackets / packets));
  if (s.hosts.qps > kMostQps)
    throw std::invalid_argument(fmt::format("{} queue pairs: the testbed supports 1 to {}", s.hosts.qps, kMostQps));
  const std::uint64_t on_line = line_bytes(s.operation, s.message, s.hosts.path_mtu);
  const std::uint64_t all = run.messages * packets * s.hosts.qps;
  // A READ's answers leave all at once, up to the number of outstanding READs.
  const std::uint64_t answers = s.operation == Operation::read ? s.hosts.read_depth * packets * s.hosts.qps : 0;
  const std::uint64_t asked = std::uint64_t{s.hosts.depth} * packets * s.hosts.qps;
  // What the line carries in a round trip, or what a box passes on in this time.
  std::uint64_t on_the_line = bytes_in_round_trip(s) * packets / on_line + 1;
  if (s.pair.present)
    on_the_line =
        std::min(on_the_line, s.link.round_trip * std::min(s.pair.workers, s.hosts.qps) / s.pair.frame_time + 1);
  // A box that takes in frames more slowly than they arrive has every outstanding message waiting before it.
  const bool waits = s.pair.present && s.pair.frame_time * (line_rate(s) / kMega) * packets > on_line * 8000;
  const std::uint64_t under_way =
      std::min(all, (s.pair.present ? on_the_line + (waits ? asked : 0) : std::min(on_the_line, asked)) + answers);
  engine::PoolPlan plan;
  plan.name = "plan";
  const std::uint64_t payload = std::min<std::uint64_t>(s.message, s.hosts.path_mtu);
  plan.frame_bytes = static_cast<std::uint32_t>(std::max<std::uint64_t>(payload + 128, 512));
  // With losses a frame can be on the line and waiting for its resend at the same time. Small buffers hold frames under
  // way, custody's copies of them, and ACKs.
  const auto buffers = [](std::uint64_t count) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(count + kSlack, 1 << 24));
  };
  // A far box also holds what came behind a gap, and copies of answers.
  const unsigned far = run.peers && run.loss_ppm != 0 ? 2 : 0;
  plan.frames = buffers((2 + far) * under_way);
  plan.small_frames = buffers((3 + far) * under_way);
  return plan;
}

Simulation simulate(const Run& run, const engine::Pools& pools) {
  const sim::Case c = case_of(run);
  sim::World world(c, pools);
  // Each packet causes events at five places, and so does its answer. Timers come on top.
  const std::uint64_t packets = run.messages * packets_per_message(run.scenario) * run.scenario.hosts.qps;
  const std::uint64_t of_peers = run.peers ? 10'000'000 : 0;  // they talk each millisecond at least
  const sim::Result result = world.run(1'000'000 + of_peers + 40 * packets);
  Simulation simulation;
  simulation.world = sim::to_text(c);
  if (result.violation)
    throw std::runtime_error(fmt::format("{} (world: {})", result.violation->text, simulation.world));
  Time from = kNever;
  Time to = 0;
  for (unsigned connection = 0; connection < run.scenario.hosts.qps; ++connection) {
    const sim::Requester& requester = world.requester(0, connection);
    from = std::min(from, requester.measured_from());
    to = std::max(to, requester.measured_to());
    simulation.repeated += requester.resent();
  }
  simulation.lasted = to - from;
  const double seconds = in_seconds(simulation.lasted);
  simulation.messages_per_second = static_cast<double>(run.messages * run.scenario.hosts.qps) / seconds;
  simulation.bits_per_second = simulation.messages_per_second * static_cast<double>(run.scenario.message) * 8;
  simulation.pseudo_acks = world.count(0, Counter::pseudo_acks);
  simulation.resends = world.count(0, Counter::resends) + world.count(1, Counter::answer_repairs) +
                       world.count(1, Counter::answer_repair_copies);
  simulation.lost = result.totals.lost;
  simulation.events = result.totals.steps;
  return simulation;
}

}  // namespace longhaul::plan
