// SPDX-License-Identifier: BSD-3-Clause
#include "sim/attack_script.hpp"

#include <algorithm>
#include <iterator>

#include "sim/attacker.hpp"
#include "sim/random.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

namespace {

// A step sends no more frames than this, so that a script cannot outdo others by its number of frames alone.
constexpr Number kMostFrames = 8;

struct Act {
  Attacker& attacker;
  AttackConnection& connection;
  Number value;

  std::size_t bytes() const { return attacker.plan().attack.bytes; }
  std::int64_t distance() const { return static_cast<std::int64_t>(value); }
};

void write(const Act& act) { act.connection.write(act.bytes()); }
void write_silently(const Act& act) { act.connection.write(act.bytes(), false); }

void write_some(const Act& act) {
  for (Number n = 0; n <= act.value % kMostFrames; ++n) act.connection.write(act.bytes());
}

// Only what it has sent: it sends nothing before the connection is open.
template <std::uint8_t kFirstByte>
void repeat(const Act& act) {
  if (act.connection.sent() == 0) return;
  const std::int64_t back = 1 + act.distance() % act.connection.sent();
  act.connection.write_at(wire::psn_add(act.connection.next_psn(), -back), act.bytes(), kFirstByte);
}

void skip(const Act& act) {
  act.connection.write_at(wire::psn_add(act.connection.next_psn(), 1 + act.distance()), act.bytes());
}

void read(const Act& act) { act.connection.read(static_cast<std::uint32_t>(act.value)); }
void fetch_add(const Act& act) { act.connection.fetch_add(); }

// The last ACK again has a PSN of its own, whatever `value` is.
template <Answer kKind>
void answer(const Act& act) {
  act.connection.answer(kKind, wire::psn_add(act.connection.next_psn(), -1 - act.distance()));
}

void ack_all(const Act& act) { act.connection.acknowledge_ahead(0); }
void ack_ahead(const Act& act) { act.connection.acknowledge_ahead(static_cast<std::uint32_t>(act.value)); }
void congestion(const Act& act) { act.connection.notify_congestion(); }
void connect_again(const Act& act) { act.connection.reconnect(); }
void disconnect(const Act& act) { act.connection.disconnect(); }
void disconnect_stray(const Act& act) { act.connection.disconnect(static_cast<std::uint32_t>(1 + act.value)); }
void wait(const Act&) {}

struct Verb {
  std::string_view name;
  void (*act)(const Act& act);
};

// A new verb comes at the end: cases name verbs by their row.
constexpr Verb kVerbs[] = {
    {"write", write},
    {"write without AckReq", write_silently},
    {"write value + 1 times", write_some},
    {"repeat what was sent value ago", repeat<0>},
    {"the same with other bytes", repeat<0x5a>},
    {"write value + 1 PSNs ahead", skip},
    {"read value bytes", read},
    {"fetch and add", fetch_add},
    {"ACK all but value", answer<Answer::ack>},
    {"PSN NAK there", answer<Answer::psn_nak>},
    {"RNR NAK there", answer<Answer::rnr_nak>},
    {"fatal NAK there", answer<Answer::fatal_nak>},
    {"the last ACK again", answer<Answer::last_ack>},
    {"ACK all", ack_all},
    {"ACK value more than was sent", ack_ahead},
    {"congestion notification", congestion},
    {"the next life of the QPs", connect_again},
    {"DREQ", disconnect},
    {"DREQ of another exchange", disconnect_stray},
    {"nothing", wait},
};

}  // namespace

std::size_t script_verbs() { return std::size(kVerbs); }

Manners manners_of_script(const Case& c) {
  Manners manners;
  manners.announced = c.attack.announced != 0;
  manners.polite = static_cast<std::uint32_t>(c.attack.polite);
  manners.then = static_cast<Answer>(c.attack.then);
  manners.ack_timeout = static_cast<std::uint8_t>(c.attack.ack_timeout);
  return manners;
}

void draw_script(Case& c) {
  constexpr std::uint64_t kPurpose = 80;  // of its random stream
  Random random(c.seed, c.attack.kind, kPurpose);
  c.attack.announced = random.chance(3, 4);
  c.attack.polite = random.pick({0, 1, 16, 256, 1'000'000'000});
  c.attack.then = random.below(number_of(Answer::last_ack) + 1);
  c.attack.ack_timeout = random.pick({8, 14, 20, 31});
  c.script.clear();
  for (Number n = random.between(1, 12); n > 0; --n)
    c.script.push_back({random.below(std::size(kVerbs)), random.below(random.pick({1, 4, kScriptConnections})),
                        random.pick({0, 1, 7, 64, 4096, 1 << 22})});
}

void run_script(Attacker& attacker, Number number) {
  const auto& script = attacker.plan().script;
  if (script.empty()) return;
  const AttackStep& step = script[number % script.size()];
  AttackConnection& connection = attacker.connection(static_cast<unsigned>(step.connection % kScriptConnections));
  kVerbs[step.verb % std::size(kVerbs)].act({attacker, connection, step.value});
}

}  // namespace longhaul::sim
