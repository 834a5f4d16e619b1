// SPDX-License-Identifier: BSD-3-Clause
// Random cases for worlds that run with boxes and without: fast hosts on a slower link. Real NICs post at line rate
// from the first packet on, and have more outstanding than custody, queues and round trips hold together.
#include <algorithm>

#include "sim/pair.hpp"
#include "sim/random.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

namespace {

constexpr Number kHeadersOfOne = 74;  // of a frame, about

struct Size {
  Number frames;  ///< of one connection and direction
  Number bytes;
};

Size size_of(const Case& c, const HostPlan& host) {
  const Number mtu = wire::path_mtu_bytes(static_cast<std::uint8_t>(c.mtu));
  const Number frames = host.messages * ((host.max_bytes + mtu - 1) / mtu);
  return {frames, host.messages * host.max_bytes + frames * kHeadersOfOne};
}

void draw_posted(const Case& c, HostPlan& host, Random& random, Number most_frames) {
  const Number mtu = wire::path_mtu_bytes(static_cast<std::uint8_t>(c.mtu));
  host.mix = number_of(random.pick({Mix::writes, Mix::sends, Mix::common, Mix::common, Mix::everything, Mix::write_only,
                                    Mix::write_only, Mix::send_only, Mix::read_only}));
  host.max_bytes = random.pick({64, 700, 4096, 9000, 65536});
  host.uniform = random.chance(2, 3);
  const Number each = (host.max_bytes + mtu - 1) / mtu;
  host.messages = random.between(1, std::clamp<Number>(most_frames / each, 1, 200));
  host.depth = random.pick({1, 16, 256, 256});
  host.window = 65536;
  host.burst = random.pick({1, 8, 64});
  host.ack_habit = random.pick({0, 0, 16, 255});
  host.initiator_depth = random.pick({1, 4, 16});
  host.patient = 0;
  host.retry_count = random.pick({1, 2, 3, 7, 7, 7});
  host.ack_timeout_us = random.pick({4000, 17000, 67000, 67000, 500000, 4000000});
  host.psn = random.below(0x1000000);
}

void draw_custody(const Case& c, BoxPlan& box, const HostPlan& host, Random& random) {
  const Size one = size_of(c, host);
  const Size all{one.frames * c.connections, one.bytes * c.connections};
  const auto part = [&](Number of) { return std::max<Number>(1, of * random.pick({5, 10, 25, 50, 90, 120}) / 100); };
  if (random.chance(1, 2)) box.mbufs = std::clamp<Number>(part(all.frames), 2, 8192);
  if (random.chance(1, 4)) box.box_bytes = part(all.bytes);
  if (random.chance(1, 4)) box.flow_bytes = part(one.bytes);
  if (random.chance(1, 2)) box.wan_mbps = c.wan_mbps;
  if (random.chance(1, 6)) box.policy = number_of(BoxPolicy::window);
  if (random.chance(1, 4)) box.confirm_cm = 1;
  if (random.chance(1, 4)) box.window_bytes = random.between(200, 200000);
  // A worker slower than the link is an operator's mistake.
  if (random.chance(1, 4)) box.frame_ns = least_frame_time(c) * random.between(1, 9) / 40;
}

// The mishaps of a deterministic world are scripted.
void draw_script(Case& c, Random& random) {
  if (random.chance(1, 3)) {
    for (Number n = random.between(1, 3); n > 0; --n) {
      ScriptedEvent event;
      event.segment = random.chance(2, 3) ? kLongHaul : random.below(kSegments);
      event.way = number_of(random.pick({link::Way::a_to_b, link::Way::b_to_a}));
      event.connection = random.below(c.connections);
      event.of_answers = random.chance(1, 2);
      event.position = random.below(40);
      event.action = number_of(
          random.pick({link::Action::drop, link::Action::drop, link::Action::duplicate, link::Action::delay}));
      event.delay_us = random.between(1, 3000);
      c.events.push_back(event);
    }
  }
  if (random.chance(1, 10)) {
    c.outage_at_us = c.starts_us + random.between(1, 60000);
    c.outage_us = random.pick({1000, 30000, 300000});
    c.outage_segment = random.below(kSegments);
  }
}

void draw_chance(Case& c, Random& random) {
  for (std::size_t segment = 0; segment < kSegments; ++segment) {
    for (Harm& harm : c.harm[segment]) {
      if (!random.chance(segment == kLongHaul ? 3 : 1, 6)) continue;
      if (random.chance(1, 2)) harm.loss_ppm = random.pick({100, 1000, 10000, 30000});
      if (random.chance(1, 5)) harm.duplicate = random.between(1, 200);
      if (random.chance(1, 5)) harm.reorder = random.between(1, 200);
      if (harm.reorder != 0) harm.reorder_us = random.between(1, 2000);
      if (random.chance(1, 5)) harm.corrupt = random.between(1, 100);
      if (random.chance(1, 5)) harm.jitter_us = random.between(1, 100);
      if (random.chance(1, 8)) harm.burst = random.between(1, 40);
      if (harm.burst != 0) harm.burst_frames = random.between(2, 40);
    }
  }
  for (BoxPlan* box : {&c.box_a, &c.box_b})
    if (random.chance(1, 6)) box->port_full = random.between(1, 1500);
}

}  // namespace

Case draw_pair(std::uint64_t seed, bool by_chance) {
  Random random(seed, 0, 1);
  Case c;
  c.seed = seed;
  c.by_packet = 1;
  c.close = number_of(Closing::nobody);
  c.mtu = random.pick({1, 3, 3, 5});
  c.connections = random.pick({1, 1, 2, 4, 8, 16});
  c.apart_us = random.pick({0, 0, 1, 300, 5000});
  // A box learns nothing from traffic in its first second.
  c.connected = random.chance(1, 3);
  if (c.connected != 0) c.starts_us = 1'100'000;
  c.wan_delay_us = random.pick({20, 200, 1000, 5000, 20000});
  c.wan_mbps = random.pick({10, 100, 1000});
  c.line_overhead = random.pick({0, 24});
  const Number most_frames = std::max<Number>(8, 1500 / c.connections);
  draw_posted(c, c.a, random, most_frames);
  if (random.chance(1, 3)) draw_posted(c, c.b, random, most_frames);
  const Number posted = size_of(c, c.a).bytes * c.connections;
  // A queue smaller than one READ's response would starve plain RoCE for ever.
  c.wan_queue = std::max<Number>(80000, random.pick({0, posted / 20, posted / 4, posted}));
  for (HostPlan* host : {&c.a, &c.b}) {
    host->port_mbps = c.wan_mbps * random.pick({1, 2, 10, 100});
    if (!by_chance) host->timeout_spread = 0;
  }
  if (random.chance(1, 4)) {
    HostPlan& host = random.chance(3, 4) ? c.a : c.b;
    host.load_mbps = std::max<Number>(1, c.wan_mbps * random.pick({30, 70, 90, 100, 120, 300}) / 100);
    host.port_mbps = std::max(host.port_mbps, 2 * host.load_mbps);
    host.load_bytes = random.pick({200, 1024, 4000});
    host.load_at_us = random.chance(1, 2) ? c.starts_us : c.starts_us + random.below(20000);
    // Longer than the patience of most hosts.
    host.load_us = random.between(1000, 30'000'000 / host.load_mbps * host.load_bytes / 1024);
  }
  draw_custody(c, c.box_a, c.a, random);
  draw_custody(c, c.box_b, c.b, random);
  if (by_chance)
    draw_chance(c, random);
  else
    draw_script(c, random);
  draw_local(c);
  // As by default.
  c.box_a.cnp = c.box_b.cnp = 1;
  c.box_a.ack_unasked_us = c.box_b.ack_unasked_us = 100;
  return c;
}

}  // namespace longhaul::sim
