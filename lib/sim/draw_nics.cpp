// SPDX-License-Identifier: BSD-3-Clause
// Each host of a case as a NIC of a family that is drawn at random.
#include <algorithm>

#include "sim/nic_families.hpp"
#include "sim/random.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint64_t kPurpose = 3;

void draw_nic(Case& c, unsigned host, Random& random) {
  const Number family = 1 + random.below(nic_families().size());
  std::vector<Number> chosen;
  for (const NicHabit& habit : nic_families()[family - 1].habits) {
    const Number value = habit.values[random.below(habit.values.size())];
    chosen.push_back(value == kAnyPsn ? random.below(0x1000000) : value);
  }
  HostPlan& plan = host == 0 ? c.a : c.b;
  const Number rnr_timer = plan.rnr_timer;
  apply_nic(c, host, family, chosen);
  // An application that is away for minutes (draw_case()) has a timer that fits: otherwise all that happens is RNR
  // NAKs.
  constexpr Number kAway = 100'000;
  if (plan.refill_us > kAway) plan.rnr_timer = std::max(rnr_timer, plan.rnr_timer);
}

/// A long message would never get through: its requester goes back too often.
bool is_very_lossy(const Case& c) {
  constexpr Number kLoss = 20;
  return std::ranges::any_of(c.harm, [](const auto& segment) {
    return std::ranges::any_of(segment, [](const Harm& harm) {
      return harm.loss > kLoss || harm.loss_ppm > 100 * kLoss || harm.burst != 0 || harm.reorder > kLoss ||
             harm.corrupt > kLoss;
    });
  });
}

// Long messages show AckReq within a message. They are few, so that a world does not become longer.
void draw_long_messages(Case& c, HostPlan& host, Random& random) {
  constexpr Number kPackets = 400;
  constexpr Number kMost = 3;
  if (host.messages == 0 || !random.chance(1, 4)) return;
  if (c.connections > 2 || is_very_lossy(c)) return;
  host.max_bytes = kPackets * wire::path_mtu_bytes(static_cast<std::uint8_t>(c.mtu));
  host.messages = std::min(host.messages, kMost);
}

}  // namespace

Case with_random_nics(Case c) {
  Random random(c.seed, 0, kPurpose);
  const bool patient = c.a.patient != 0 || c.b.patient != 0;
  for (unsigned h = 0; h < 2; ++h) draw_nic(c, h, random);
  for (HostPlan* host : {&c.a, &c.b}) {
    draw_long_messages(c, *host, random);
    // A patient host whose timer is shorter than the round trip floods a slow path for ever.
    const bool slow = patient && (c.wan_mbps != 0 || c.box_a.wan_mbps != 0 || c.box_b.wan_mbps != 0);
    const Number least = 3 * c.wan_delay_us + (slow ? 250'000 : 0);
    host->ack_timeout_us = std::max(host->ack_timeout_us, least) + 4 * c.local_ns / 1000;
  }
  // Queues mark frames where a network is made for DCQCN.
  if (c.wan_mbps != 0 && random.chance(1, 2)) c.wan_ecn = random.pick({5'000, 40'000, 200'000});
  return c;
}

}  // namespace longhaul::sim
