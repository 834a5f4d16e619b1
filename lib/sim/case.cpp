// SPDX-License-Identifier: BSD-3-Clause
#include "sim/case.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <span>
#include <stdexcept>

namespace longhaul::sim {

namespace {

struct Field {
  const char* name;
  std::size_t offset;
  Number least;
  Number most;
};

constexpr Number kAny = ~Number{0};
constexpr Number kMuch = 1'000'000'000;
constexpr Number kLastMix = number_of(Mix::read_only);
constexpr Number kFirstFatal = number_of(wire::NakCode::invalid_request);
constexpr Number kLastFatal = number_of(wire::NakCode::remote_operational_error);
constexpr Number kMonth = Number{31} * 24 * 3600 * 1'000'000;

#define FIELD(type, name, least, most) \
  Field { #name, offsetof(type, name), least, most }

constexpr Field kHarm[] = {
    FIELD(Harm, loss, 0, 10000),      FIELD(Harm, loss_ppm, 0, 1000000), FIELD(Harm, duplicate, 0, 10000),
    FIELD(Harm, reorder, 0, 10000),   FIELD(Harm, reorder_us, 0, kMuch), FIELD(Harm, corrupt, 0, 10000),
    FIELD(Harm, jitter_us, 0, kMuch), FIELD(Harm, burst, 0, 10000),      FIELD(Harm, burst_frames, 1, 1000),
};

constexpr Field kHost[] = {
    FIELD(HostPlan, messages, 0, 4000000),
    FIELD(HostPlan, mix, 0, kLastMix),
    FIELD(HostPlan, max_bytes, 1, 1 << 23),
    FIELD(HostPlan, depth, 1, 65536),
    FIELD(HostPlan, window, 1, 1 << 22),
    FIELD(HostPlan, burst, 1, 65536),
    FIELD(HostPlan, pace_us, 0, kMuch),
    FIELD(HostPlan, ack_habit, 0, 255),
    FIELD(HostPlan, selective, 0, 1),
    FIELD(HostPlan, ack_timeout_us, 1, kMuch),
    FIELD(HostPlan, patient, 0, 1),
    FIELD(HostPlan, retry_count, 0, 7),
    FIELD(HostPlan, rnr_retry, 0, kEndlessRnrRetry),
    FIELD(HostPlan, initiator_depth, 1, 128),
    FIELD(HostPlan, tail_repeat, 0, 1),
    FIELD(HostPlan, places_us, 0, kMuch),
    FIELD(HostPlan, psn, 0, 0xffffff),
    FIELD(HostPlan, receives, 0, 65536),
    FIELD(HostPlan, refill_us, 0, kMuch),
    FIELD(HostPlan, rnr_timer, 0, 31),
    FIELD(HostPlan, nak_after_rnr, 0, 1),
    FIELD(HostPlan, ack_every, 1, 65536),
    FIELD(HostPlan, ack_delay_us, 0, kMuch),
    FIELD(HostPlan, credits, 0, 1),
    FIELD(HostPlan, fatal_at, 0, 100000),
    FIELD(HostPlan, fatal_code, kFirstFatal, kLastFatal),
    FIELD(HostPlan, dead_at, 0, 100000),
    FIELD(HostPlan, odd_nak_at, 0, 100000),
    FIELD(HostPlan, forged_reads, 0, 1),
    FIELD(HostPlan, timeout_spread, 0, 300),
    FIELD(HostPlan, load_mbps, 0, 1000000),
    FIELD(HostPlan, load_bytes, 1, 4096),
    FIELD(HostPlan, load_at_us, 0, kMuch),
    FIELD(HostPlan, load_us, 0, kMuch),
    FIELD(HostPlan, foreign_us, 0, kMuch),
    FIELD(HostPlan, forged_us, 0, kMuch),
    FIELD(HostPlan, uniform, 0, 1),
    FIELD(HostPlan, warm_up, 0, 100),
    FIELD(HostPlan, nic_depth, 0, 65536),
    FIELD(HostPlan, moderation, 1, 65536),
    FIELD(HostPlan, turnaround_ns, 0, kMuch),
    FIELD(HostPlan, message_ns, 0, kMuch),
    FIELD(HostPlan, port_mbps, 0, 1000000),
    FIELD(HostPlan, nic, 0, 99),
    FIELD(HostPlan, ack_each, 0, 65536),
    FIELD(HostPlan, first_timeout_us, 0, kMuch),
    FIELD(HostPlan, udp_port, 0, number_of(SourcePort::random)),
    FIELD(HostPlan, congestion, 0, number_of(Congestion::round_trip)),
    FIELD(HostPlan, cnp_us, 0, kMuch),
};

constexpr Field kBox[] = {
    FIELD(BoxPlan, present, 0, 1),
    FIELD(BoxPlan, confirm_cm, 0, 1),
    FIELD(BoxPlan, policy, 0, number_of(BoxPolicy::window)),
    FIELD(BoxPlan, flow_bytes, 0, kAny),
    FIELD(BoxPlan, box_bytes, 0, kAny),
    FIELD(BoxPlan, mbufs, 0, 1 << 20),
    FIELD(BoxPlan, window_bytes, 1, kAny),
    FIELD(BoxPlan, reorder_wait_us, 0, 1000),
    FIELD(BoxPlan, ack_unasked_us, 0, 100000),
    FIELD(BoxPlan, wan_mbps, 0, 1000000),
    FIELD(BoxPlan, port_full, 0, 9000),
    FIELD(BoxPlan, drain_at_us, 0, kMuch),
    FIELD(BoxPlan, undrain_at_us, 0, kMuch),
    FIELD(BoxPlan, repolicy_at_us, 0, kMuch),
    FIELD(BoxPlan, repolicy, 0, number_of(BoxPolicy::window)),
    FIELD(BoxPlan, bypass_at_us, 0, kMuch),
    FIELD(BoxPlan, bypass_us, 0, kMuch),
    FIELD(BoxPlan, start_at_us, 0, kMuch),
    FIELD(BoxPlan, crash_at_us, 0, kMuch),
    FIELD(BoxPlan, restart_after_us, 0, kMuch),
    FIELD(BoxPlan, dark, 0, 1),
    FIELD(BoxPlan, record, 0, 1),
    FIELD(BoxPlan, pause_at_us, 0, kMuch),
    FIELD(BoxPlan, pause_us, 0, kMuch),
    FIELD(BoxPlan, ring, 1, 8192),
    FIELD(BoxPlan, answers_pass_by_at_us, 0, kMuch),
    FIELD(BoxPlan, frame_ns, 0, kMuch),
    FIELD(BoxPlan, cnp, 0, 1),
    FIELD(BoxPlan, cnp_absorb, 0, 1),
    FIELD(BoxPlan, workers, 1, 64),
    FIELD(BoxPlan, receiver, 0, 63),
    FIELD(BoxPlan, hand_over_us, 0, 1000),
    FIELD(BoxPlan, peer, 0, number_of(BoxPeer::liar)),
    FIELD(BoxPlan, lie_us, 1, kMuch),
    FIELD(BoxPlan, control_cut_at_us, 0, kMuch),
    FIELD(BoxPlan, control_cut_us, 0, kMuch),
    FIELD(BoxPlan, control_late_us, 0, kMuch),
    FIELD(BoxPlan, control_replay, 0, 10000),
};

constexpr Field kAttack[] = {
    FIELD(AttackPlan, kind, 0, 999),        FIELD(AttackPlan, at_us, 0, kMuch),  FIELD(AttackPlan, every_us, 1, kMuch),
    FIELD(AttackPlan, steps, 1, 1'000'000), FIELD(AttackPlan, bytes, 1, 4096),   FIELD(AttackPlan, side, 0, 1),
    FIELD(AttackPlan, announced, 0, 1),     FIELD(AttackPlan, polite, 0, kMuch), FIELD(AttackPlan, then, 0, 5),
    FIELD(AttackPlan, ack_timeout, 0, 31),
};

constexpr Field kCase[] = {
    FIELD(Case, seed, 0, kAny),
    FIELD(Case, luck, 0, kMuch),
    FIELD(Case, lane, 0, 1),
    FIELD(Case, by_packet, 0, 1),
    FIELD(Case, connected, 0, 1),
    FIELD(Case, connections, 1, 64),
    FIELD(Case, apart_us, 0, kMuch),
    FIELD(Case, psns_apart, 0, 0xffff),
    FIELD(Case, reject, 0, 1),
    FIELD(Case, active_b, 0, 1),
    FIELD(Case, close, 0, number_of(Closing::b_early)),
    FIELD(Case, close_at_us, 0, kMuch),
    FIELD(Case, reconnect, 0, 5),
    FIELD(Case, starts_us, 0, kMuch),
    FIELD(Case, come_back, 0, 8),
    FIELD(Case, come_back_us, 0, kMonth),
    FIELD(Case, come_back_qpns, 0, 3),
    FIELD(Case, come_back_crosswise, 0, 1),
    FIELD(Case, come_back_psn, 0, 0xffffff),
    FIELD(Case, come_back_same, 0, number_of(NextWork::same_first_message)),
    FIELD(Case, leave_us, 0, kMuch),
    FIELD(Case, same_exchange, 0, 1),
    FIELD(Case, cm_timeout_us, 1, kMuch),
    FIELD(Case, ipv6, 0, 1),
    FIELD(Case, vlans, 0, 2),
    FIELD(Case, mtu, 1, 5),
    FIELD(Case, p_key, 0, 0xffff),
    FIELD(Case, wan_delay_us, 0, kMuch),
    FIELD(Case, wan_delay_ns, 0, 1000),
    FIELD(Case, wan_queue, 0, kAny),
    FIELD(Case, wan_ecn, 0, kAny),
    FIELD(Case, wan_mbps, 0, 1000000),
    FIELD(Case, line_overhead, 0, 1000),
    FIELD(Case, local_ns, 0, kMuch),
    FIELD(Case, outage_at_us, 0, kMuch),
    FIELD(Case, outage_us, 0, kMuch),
    FIELD(Case, outage_segment, 0, kSegments - 1),
    FIELD(Case, next_hop_dies_at_us, 0, kMuch),
    FIELD(Case, next_hop_host, 0, 1),
    FIELD(Case, next_hop_told, 0, number_of(NextHopNews::gateway)),
    FIELD(Case, give_up_ms, 1, kMuch),
    FIELD(Case, dreq_hold_ms, 1, kMuch),
    FIELD(Case, last_later_us, 0, kMuch),
    FIELD(Case, places, 0, 65536),
};

#undef FIELD

using EventField = Number ScriptedEvent::*;
constexpr EventField kEventFields[] = {&ScriptedEvent::segment,    &ScriptedEvent::way,      &ScriptedEvent::connection,
                                       &ScriptedEvent::of_answers, &ScriptedEvent::position, &ScriptedEvent::any_psn,
                                       &ScriptedEvent::nth,        &ScriptedEvent::count,    &ScriptedEvent::action,
                                       &ScriptedEvent::delay_us};

using StepField = Number AttackStep::*;
constexpr StepField kStepFields[] = {&AttackStep::verb, &AttackStep::connection, &AttackStep::value};

Number number(std::string_view digits, std::string_view word) {
  Number value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size())
    throw std::invalid_argument(fmt::format("case: '{}' has no number behind '='", word));
  return value;
}

/// A record of numbers with colons between them, and back.
template <typename Record, std::size_t kFields>
Record parse_record(std::string_view text, std::string_view word, Number Record::*const (&fields)[kFields]) {
  Record record;
  for (const auto field : fields) {
    const std::size_t end = text.find(':');
    record.*field = number(text.substr(0, end), word);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  if (!text.empty()) throw std::invalid_argument(fmt::format("case: '{}' has too many parts", word));
  return record;
}

template <typename Record, std::size_t kFields>
std::string record_text(const Record& record, Number Record::*const (&fields)[kFields]) {
  std::string text;
  for (const auto field : fields) text += fmt::format("{}{}", text.empty() ? "" : ":", record.*field);
  return text;
}

/// The same case without one of these.
template <typename Record>
void add_each_without(const Case& c, std::vector<Record> Case::*records, std::vector<Case>& all) {
  for (std::size_t i = 0; i < (c.*records).size(); ++i) {
    Case without = c;
    (without.*records).erase((without.*records).begin() + static_cast<std::ptrdiff_t>(i));
    all.push_back(without);
  }
}

}  // namespace

Number& Knob::in(Case& c) const { return *reinterpret_cast<Number*>(reinterpret_cast<char*>(&c) + offset); }

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> all = [] {
    std::vector<Knob> made;
    Case calm;
    const auto add = [&](const std::string& prefix, std::size_t base, std::span<const Field> fields) {
      for (const Field& field : fields) {
        Knob knob{prefix + field.name, base + field.offset, 0, field.least, field.most};
        knob.calm = knob.in(calm);
        made.push_back(std::move(knob));
      }
    };
    add("", 0, kCase);
    add("attack.", offsetof(Case, attack), kAttack);
    add("a.", offsetof(Case, a), kHost);
    add("b.", offsetof(Case, b), kHost);
    add("box_a.", offsetof(Case, box_a), kBox);
    add("box_b.", offsetof(Case, box_b), kBox);
    for (std::size_t segment = 0; segment < kSegments; ++segment)
      for (std::size_t way = 0; way < 2; ++way)
        add(fmt::format("{}{}.", way == 0 ? "ab" : "ba", segment),
            offsetof(Case, harm) + (segment * 2 + way) * sizeof(Harm), kHarm);
    return made;
  }();
  return all;
}

std::string to_text(const Case& c) {
  std::string text;
  for (const Knob& knob : knobs())
    if (knob.in(c) != knob.calm || knob.name == "seed")
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", knob.name, knob.in(c));
  for (const ScriptedEvent& event : c.events) text += " event=" + record_text(event, kEventFields);
  for (const AttackStep& step : c.script) text += " step=" + record_text(step, kStepFields);
  return text;
}

Case parse_case(std::string_view text, Case c) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \n\t");
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      throw std::invalid_argument(fmt::format("case: '{}' is not of the form name=number", word));
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (name == "event") {
      c.events.push_back(parse_record<ScriptedEvent>(value, word, kEventFields));
      continue;
    }
    if (name == "step") {
      c.script.push_back(parse_record<AttackStep>(value, word, kStepFields));
      continue;
    }
    const Knob* found = nullptr;
    for (const Knob& knob : knobs())
      if (knob.name == name) found = &knob;
    if (found == nullptr) throw std::invalid_argument(fmt::format("case: there is no knob '{}'", name));
    const Number given = number(value, word);
    if (given < found->least || given > found->most)
      throw std::invalid_argument(
          fmt::format("case: '{}': {} goes from {} to {}", word, found->name, found->least, found->most));
    found->in(c) = given;
  }
  return c;
}

std::vector<Case> simpler(const Case& c) {
  std::vector<Case> all;
  add_each_without(c, &Case::events, all);
  add_each_without(c, &Case::script, all);
  for (const Knob& knob : knobs()) {
    if (knob.name == "seed" || knob.in(c) == knob.calm) continue;
    Case calmer = c;
    knob.in(calmer) = knob.calm;
    all.push_back(calmer);
  }
  for (const Knob& knob : knobs()) {
    const Number value = knob.in(c);
    const bool messages = knob.name.ends_with("messages");
    if (knob.name == "seed" || (value == knob.calm && !messages)) continue;
    // Halfway to calm, and one step.
    const Number goal = messages ? 0 : knob.calm;
    const Number distance = value > goal ? value - goal : goal - value;
    for (const Number step : {distance / 2, Number{1}}) {
      if (step == 0 || step >= distance) continue;
      Case calmer = c;
      knob.in(calmer) = value > goal ? value - step : value + step;
      all.push_back(calmer);
    }
  }
  return all;
}

Duration round_trip(const Case& c) { return 2 * (microseconds(c.wan_delay_us) + c.wan_delay_ns + 2 * c.local_ns); }

bool closes_early(const Case& c) {
  return c.close == number_of(Closing::a_early) || c.close == number_of(Closing::b_early);
}

bool closes(const Case& c, unsigned host) {
  const auto closing = static_cast<Closing>(c.close);
  if (closing == Closing::both) return true;
  return host == 0 ? closing == Closing::a || closing == Closing::a_early
                   : closing == Closing::b || closing == Closing::b_early;
}

bool is_announced(const Case& c, unsigned generation) {
  return c.connected == 0 && (c.come_back == 0 || generation == 0);
}

bool loses_a_box(const Case& c) { return c.box_a.crash_at_us != 0 || c.box_b.crash_at_us != 0; }

bool must_complete(const Case& c) {
  const auto host = [](const HostPlan& h) {
    return h.patient != 0 && h.rnr_retry == kEndlessRnrRetry && h.fatal_at == 0 && h.dead_at == 0;
  };
  const auto box = [](const BoxPlan& b) { return b.crash_at_us == 0 && b.answers_pass_by_at_us == 0; };
  // While one box stands still, the other's custody gets no answers.
  const bool answered =
      (c.b.messages == 0 || c.box_a.pause_us < 10'000'000) && (c.a.messages == 0 || c.box_b.pause_us < 10'000'000);
  return host(c.a) && host(c.b) && box(c.box_a) && box(c.box_b) && answered && !closes_early(c) && c.reject == 0 &&
         c.give_up_ms >= 30000 && c.outage_us < 10'000'000;
}

std::string_view kind_of(const Case& c) {
  if (c.reject != 0) return "rejected";
  if (loses_a_box(c)) return "box crash";
  if (c.box_a.start_at_us != 0 || c.box_b.start_at_us != 0) return "box starts in the middle";
  if (c.box_a.answers_pass_by_at_us != 0 || c.box_b.answers_pass_by_at_us != 0) return "asymmetric";
  if (c.box_a.pause_us != 0 || c.box_b.pause_us != 0) return "box stands still";
  if (c.a.fatal_at != 0 || c.b.fatal_at != 0) return "fatal NAK";
  if (c.a.dead_at != 0 || c.b.dead_at != 0) return "responder dies";
  if (closes_early(c)) return "early close";
  if (c.outage_us != 0) return "outage";
  if (c.next_hop_dies_at_us != 0) return "next hop dies";
  if (c.reconnect != 0) return "reconnect";
  if (c.come_back != 0) return "another life";
  if (c.connected != 0) return "no RDMA-CM";
  if (c.box_a.bypass_at_us != 0 || c.box_b.bypass_at_us != 0) return "bypass";
  if (c.box_a.repolicy_at_us != 0 || c.box_b.repolicy_at_us != 0) return "policy changed";
  if (c.box_a.drain_at_us != 0 || c.box_b.drain_at_us != 0) return "drain";
  if (c.a.credits != 0 || c.b.credits != 0) return "credits";
  return "lossy";
}

}  // namespace longhaul::sim
