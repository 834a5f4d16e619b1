// SPDX-License-Identifier: BSD-3-Clause
// Worlds whose boxes are peers: what happens on the long haul is drawn anew, because repair by both boxes lives by it.
#include "sim/case.hpp"
#include "sim/random.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint64_t kPeersPurpose = 41;
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

}  // namespace

Case with_random_peers(Case c) {
  Random random(c.seed, 0, kPeersPurpose);
  if (c.come_back_us > kLongestForPeers || c.last_later_us > kLongestForPeers) return c;
  const bool together = random.chance(7, 8);
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    if (together) box->workers = 1, box->receiver = 0;
    box->peer = 1;
  }
  if (random.chance(1, 10)) (random.chance(1, 2) ? c.box_a : c.box_b).peer = 0;
  for (Harm& harm : c.harm[kLongHaul]) draw_long_haul(harm, random);
  // Otherwise they meet amid the traffic.
  if (random.chance(1, 2) && c.starts_us == 0) c.starts_us = 600'000 + 10 * c.wan_delay_us;
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
  return c;
}

}  // namespace longhaul::sim
