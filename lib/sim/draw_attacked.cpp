// SPDX-License-Identifier: BSD-3-Clause
// Random cases with attacks: a victim that has enough of everything beside an honest neighbour, and boxes whose limits
// a few hundred frames reach. Three connections of the victim show what an attack takes: the first is there before it,
// the second begins during the attack, and the last when everything that it left behind must be gone.
#include <algorithm>

#include "sim/attack_script.hpp"
#include "sim/attack_table.hpp"
#include "sim/random.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint64_t kVictim = 78;  // purposes of random streams
constexpr std::uint64_t kInSoak = 79;

// A box remembers nothing for longer: a REQ 120 s, a candidate or an unanswered DREQ 60 s, an idle connection 600 s.
constexpr Number kForgottenUs = 700'000'000;

// Of each size, in the pools that these worlds are meant for (test/sim/pools.hpp).
constexpr Number kSmallBuffers = 512;

void draw_victim(Case& c, Random& random) {
  c.connections = 3;
  c.apart_us = 12000;
  c.a.messages = random.between(250, 350);
  c.a.mix = number_of(random.pick({Mix::write_only, Mix::send_only, Mix::writes}));
  c.a.max_bytes = random.pick({64, 700, 1024, 2048});
  c.a.depth = 256;
  c.a.window = 4096;
  c.a.burst = 2;
  c.a.pace_us = random.pick({100, 150, 200});
  // What a host sends to one that closes does not all arrive.
  c.b.messages = random.chance(1, 3) ? 250 : 0;
  if (c.b.messages != 0) c.close = number_of(Closing::nobody);
  c.b.mix = number_of(Mix::write_only);
  c.b.max_bytes = 64;
  c.b.depth = 256;
  c.b.window = 4096;
  c.b.burst = 2;
  c.b.pace_us = 200;
  for (HostPlan* host : {&c.a, &c.b}) {
    host->patient = 0;
    host->retry_count = 7;
    host->ack_timeout_us = 67000;
    host->psn = random.below(0x1000000);
  }
}

constexpr Number kFrameHeaders = 80;

/// Of the victim's frames.
Number frame_bytes(const Case& c) {
  return std::min<Number>(c.a.max_bytes, wire::path_mtu_bytes(static_cast<std::uint8_t>(c.mtu))) + kFrameHeaders;
}

/// Bytes that the victim's connections have in custody at once, at most, and frames.
struct Custody {
  Number bytes;
  Number frames;
};

Custody custody_of_victim(const Case& c) {
  // Two connections, a round trip and a half each, and a little more for what is slow to be answered.
  const Number frames = 2 * (c.a.burst * 3 * c.wan_delay_us / c.a.pace_us + 16);
  return {frames * frame_bytes(c), frames};
}

// The victim's two connections need 0.4 of the long link: less than an equal share.
void draw_rate(Case& c, const Attack& attack) {
  const Number victim = 2 * c.a.burst * frame_bytes(c) * 8 / c.a.pace_us;
  c.wan_mbps = std::max<Number>(victim * 5 / 2, 50);
  const Number attacks = (attack.needs & kOverload) != 0 ? c.wan_mbps * 6 / 5 : c.wan_mbps / 2;
  // The busiest attacks send four frames a step.
  constexpr Number kFrames = 4;
  constexpr Number kLastsUs = 30000;
  c.attack.every_us = std::max<Number>(kFrames * (c.attack.bytes + kFrameHeaders) * 8 / attacks, 1);
  c.attack.steps = std::max<Number>(kLastsUs / c.attack.every_us, 20);
}

void draw_boxes(Case& c, const Attack& attack, Random& random) {
  // An honest neighbour may have as much as the victim, and neither is to feel the other.
  constexpr Number kTimes = 4;
  constexpr Number kNeighbour = 128 << 10;
  const Custody need = custody_of_victim(c);
  const bool by_bytes = random.chance(1, 2) && (attack.needs & kFillsBuffers) == 0;
  // Where RDMA-CM's word is enough, what is never answered is promised all the same, and a bypass waits for it.
  const bool confirm_cm = random.chance(1, 3) && (attack.needs & kBypass) == 0;
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->box_bytes = by_bytes ? std::max(kTimes * need.bytes, need.bytes + kNeighbour) : 8 << 20;
    box->flow_bytes = box->box_bytes;
    box->mbufs = by_bytes ? 8192 : kTimes * need.frames;
    box->window_bytes = 1 << 20;
    box->confirm_cm = confirm_cm;
    // A rate that is not known is found out, and at first nobody is acknowledged much: an honest neighbour feels it.
    constexpr Number kMuch = 100'000;
    box->wan_mbps = (attack.needs & kPace) != 0 ? c.wan_mbps - c.wan_mbps / 20 : kMuch;
  }
}

// Each worker has its share of everything, so the box has that much for each worker.
void draw_workers(Case& c, Random& random) {
  const Number workers = random.between(2, 3);
  c.places *= workers;
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->workers = workers;
    box->box_bytes *= workers;
    box->flow_bytes *= workers;
    box->mbufs *= workers;
  }
}

void draw_bypass(Case& c, Random& random) {
  const Number at = c.attack.at_us + random.between(5000, 12000);
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->confirm_cm = 0;  // otherwise all would be promised
    box->bypass_at_us = at;
    box->bypass_us = 1'000'000;
  }
}

void draw_drain(Case& c, Random& random) {
  const Number at = c.attack.at_us + random.between(5000, 12000);
  for (BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->drain_at_us = at;
    box->undrain_at_us = at + 1'000'000;
  }
}

}  // namespace

Case draw_attacked(std::uint64_t seed, Number kind) {
  Case c;
  c.seed = seed;
  c.attack.kind = kind;
  const Attack& attack = attack_of(c);
  constexpr std::uint64_t kSpread = 0x9e37'79b9'7f4a'7c15;  // seeds that follow each other are not to be alike
  Random random(seed * kSpread, kind, kVictim);
  c.by_packet = 1;
  c.mtu = random.pick({3, 3, 5});
  c.ipv6 = random.chance(1, 5);
  if (random.chance(1, 5)) c.vlans = random.between(1, 2);
  c.wan_delay_us = random.pick({500, 1000, 3000});
  if ((attack.needs & kFillsBuffers) != 0) c.wan_delay_us = std::min<Number>(c.wan_delay_us, 1000);
  c.cm_timeout_us = 500'000;
  c.give_up_ms = 3000;
  draw_victim(c, random);
  if (attack.name == kScripted) draw_script(c);
  if ((attack.needs & kUnannounced) != 0 || ((attack.needs & kAnnounced) == 0 && random.chance(1, 4))) {
    c.connected = 1;
    c.close = number_of(Closing::nobody);
    c.wan_delay_us = std::min<Number>(c.wan_delay_us, 1000);  // it takes some round trips
    // A box learns nothing from traffic in the second after its first frame: this is the first one.
    c.a.load_mbps = 1;
    c.a.load_us = 1000;
  }
  c.starts_us = c.connected != 0 ? 1'100'000 : 30'000;
  c.places = (attack.needs & kManyPlaces) != 0 ? 512 : random.pick({24, 48, 64});
  c.attack.steps = attack.steps;
  c.attack.every_us = attack.every_us;
  c.attack.bytes = attack.bytes;
  c.attack.side = random.chance(1, 4);
  if ((attack.needs & kPace) != 0) draw_rate(c, attack);
  // Before the victim begins, or when its first connection is well under way.
  c.attack.at_us = random.chance(1, 2) ? c.starts_us - 15000 : c.starts_us + 5000;
  draw_boxes(c, attack, random);
  if ((attack.needs & kFillsCustody) != 0) {
    // Twice what there is.
    const Number frames = std::min(c.box_a.box_bytes / (c.attack.bytes + 80), c.box_a.mbufs + kSmallBuffers);
    c.attack.steps = std::max(c.attack.steps, 2 * frames);
  }
  if ((attack.needs & kFillsBuffers) != 0) c.attack.steps = 2 * (c.box_a.mbufs + 2 * kSmallBuffers);
  c.last_later_us = c.attack.steps * c.attack.every_us + kForgottenUs;
  if ((attack.needs & kDrain) != 0) draw_drain(c, random);
  if ((attack.needs & kBypass) != 0) draw_bypass(c, random);
  if ((attack.needs & kLoss) != 0)
    for (Harm& harm : c.harm[kLongHaul]) harm.loss = 100;
  if ((attack.needs & kWorkers) != 0 || random.chance(1, 6)) draw_workers(c, random);
  return c;
}

Case with_random_attack(Case c) {
  Random random(c.seed, 0, kInSoak);
  c.attack.kind = 1 + random.below(attacks().size());
  const Attack& attack = attack_of(c);
  c.attack.steps = random.between(1, attack.steps);
  c.attack.every_us = attack.every_us * random.between(1, 8);
  c.attack.bytes = attack.bytes;
  c.attack.side = random.below(2);
  if (attack.name == kScripted) draw_script(c);
  c.attack.at_us = c.starts_us + random.below(20000);
  if (random.chance(2, 3)) c.places = random.pick({16, 64, 512}) * std::max(c.box_a.workers, c.box_b.workers);
  return c;
}

}  // namespace longhaul::sim
