// SPDX-License-Identifier: BSD-3-Clause
// Worlds whose boxes are peers: what happens on the long haul is drawn anew, because repair by both boxes lives by it.
#include <algorithm>

#include "sim/case.hpp"
#include "sim/random.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint64_t kPeersPurpose = 41;
constexpr std::uint64_t kLastMilePurpose = 47;
constexpr std::uint64_t kWorkersPurpose = 53;
constexpr Number kLongestForPeers = 10'000'000;  // us: peers talk each 100 ms, and a world of days would have no end

void draw_long_haul(Harm& harm, Random& random) {
  harm.loss = std::max<Number>(harm.loss, random.pick({0, 10, 50, 100, 300}));
  if (random.chance(1, 4)) {
    harm.burst = random.pick({5, 20, 50});
    harm.burst_frames = random.pick({2, 8, 32});
  }
  if (random.chance(1, 4)) {
    harm.reorder = random.pick({50, 300, 2000});
    // Less than the least window, about as much, and far more.
    harm.reorder_us = random.pick({20, 90, 150, 1000, 5000});
  }
  if (random.chance(1, 6)) harm.jitter_us = random.pick({10, 120, 700});
  if (random.chance(1, 6)) harm.duplicate = random.pick({20, 300});
}

// Between the boxes and their hosts: what a far box mends from its copies. A slow host loses bursts.
void draw_last_mile(Case& c, Random& random) {
  for (const Number segment : {Number{0}, kSegments - 1})
    for (Harm& harm : c.harm[static_cast<std::size_t>(segment)]) {
      if (!random.chance(2, 3)) continue;
      harm.loss = random.pick({0, 20, 100, 300});
      if (!random.chance(1, 2)) continue;
      harm.burst = random.pick({10, 50});
      harm.burst_frames = random.pick({4, 16, 64});
    }
}

// The peers' own datagrams, beyond what happens to all frames.
void draw_control(BoxPlan& box, Random& random) {
  if (random.chance(1, 8)) {
    box.control_cut_at_us = random.below(1'500'000);
    box.control_cut_us = random.pick({1000, 50'000, 400'000, kLongestForPeers});
  }
  if (random.chance(1, 8)) box.control_late_us = random.pick({100, 2000, 50'000});
  if (random.chance(1, 8)) box.control_replay = random.pick({100, 2000});
}

// Lives that end while much is under way, or lost, and others that begin on their QPNs at once, unannounced. READs
// above all: their answers wait in one box, and the other has copies of them.
void draw_cut_lives(Case& c, Random& random) {
  c.connected = 1;
  c.close = number_of(Closing::nobody);
  c.reconnect = c.reject = c.same_exchange = 0;
  // The longer the way, the more of one life is under way in the next.
  const bool far = random.chance(1, 2);
  if (far) c.wan_delay_us = random.pick({5000, 20'000, 50'000});
  c.starts_us = 1'100'000 + 10 * c.wan_delay_us;
  c.come_back = random.between(1, 3);
  c.come_back_us = random.pick({0, 50, 1000, 1000, 5000, 20000, 100'000});
  c.come_back_qpns = random.pick({0, 0, 0, 0, 1, 2});
  c.come_back_psn = random.chance(1, 2) ? random.below(300) : random.pick({0, 0, 0x8000});
  c.come_back_same = number_of(random.pick({NextWork::other, NextWork::same, NextWork::same_first_message}));
  const Number trip = 2 * c.wan_delay_us + 2 * c.local_ns / 1000;
  c.leave_us = random.between(trip, (far ? 8 : 30) * trip + 2000);
  if (random.chance(2, 3)) {
    c.outage_segment = random.pick({std::size_t{kLongHaul}, std::size_t{kLongHaul}, std::size_t{0}, kSegments - 1});
    c.outage_us = random.pick({trip / 2, trip, 4 * trip, 20'000, 100'000}) + 1;
    c.outage_at_us = c.starts_us + c.leave_us - random.below(std::min(c.leave_us, 2 * trip + c.outage_us));
  }
  for (HostPlan* host : {&c.a, &c.b}) {
    host->mix = number_of(random.pick({Mix::read_only, Mix::everything, Mix::common}));
    host->initiator_depth = random.pick({1, 4, 16});
    if (host->messages == 0) continue;
    host->messages = far ? random.between(100, 400) : random.between(20, 80);
    host->depth = random.pick({16, 64, 256});
    host->window = random.pick({64, 256});
    host->ack_timeout_us = std::max(host->ack_timeout_us, 3 * trip / 2 + 20'000);
  }
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->confirm_cm = 0;
    box->start_at_us = box->drain_at_us = box->undrain_at_us = box->bypass_at_us = box->repolicy_at_us = 0;
    box->pause_at_us = box->pause_us = box->answers_pass_by_at_us = 0;
    if (box->crash_at_us != 0) box->crash_at_us = c.starts_us + c.leave_us + random.below(c.come_back_us + 100'000);
  }
  c.next_hop_dies_at_us = 0;
}

// Each box spreads flows in its own way.
void draw_workers(Case& c, Random random) {
  if (!random.chance(1, 3)) return;
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->workers = random.between(1, 4);
    box->receiver = random.below(box->workers);
    box->hand_over_us = random.pick({0, 0, 1, 20});
  }
}

}  // namespace

Case with_random_peers(Case c) {
  Random random(c.seed, 0, kPeersPurpose);
  if (c.come_back_us > kLongestForPeers || c.last_later_us > kLongestForPeers) return c;
  // Two boxes that bind flows for a while at least, in most of the worlds.
  const bool together = random.chance(7, 8);
  const bool from_the_start = random.chance(1, 2);
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->peer = number_of(BoxPeer::peer);
    if (!together) continue;
    box->present = 1;
    box->workers = 1, box->receiver = 0;
    if (box->policy == number_of(BoxPolicy::off)) box->policy = number_of(BoxPolicy::full);
    if (from_the_start) box->start_at_us = box->drain_at_us = box->bypass_at_us = 0;
  }
  const auto either = [&]() -> BoxPlan& { return random.chance(1, 2) ? c.box_a : c.box_b; };
  if (random.chance(1, 10)) either().peer = number_of(BoxPeer::none);
  if (random.chance(1, 5)) {
    BoxPlan& liar = either();
    liar.peer = number_of(BoxPeer::liar);
    liar.lie_us = random.pick({100, 300, 2000, 20000});
  }
  for (BoxPlan* box : {&c.box_a, &c.box_b}) draw_control(*box, random);
  for (Harm& harm : c.harm[kLongHaul]) draw_long_haul(harm, random);
  // Otherwise they meet amid the traffic.
  if (random.chance(3, 4) && c.starts_us == 0) c.starts_us = 600'000 + 10 * c.wan_delay_us;
  if (random.chance(1, 2)) {
    constexpr Number kMany = 120;
    constexpr Number kSlowRefill = 1'000'000;  // us
    for (HostPlan* host : {&c.a, &c.b}) {
      // Where a receive comes once a minute, more messages take hours.
      if (host->messages == 0 || c.a.refill_us + c.b.refill_us > kSlowRefill) continue;
      host->messages = random.between(20, kMany);
      host->depth = random.pick({8, 64, 256});
      host->window = random.pick({24, 256});
    }
  }
  const bool cut_lives = random.chance(1, 6) && c.come_back == 0;
  if (cut_lives) draw_cut_lives(c, random);
  Random last_mile(c.seed, 0, kLastMilePurpose);
  if (last_mile.chance(1, cut_lives ? 2 : 4)) draw_last_mile(c, last_mile);
  if (together) draw_workers(c, Random(c.seed, 0, kWorkersPurpose));
  return c;
}

}  // namespace longhaul::sim
