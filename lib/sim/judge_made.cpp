// SPDX-License-Identifier: BSD-3-Clause
// What a box says in a responder's name (rules 1, 4, 5 and 6).
#include <fmt/format.h>

#include <algorithm>

#include "sim/judge.hpp"
#include "wire/credits.hpp"

namespace longhaul::sim {

void Judge::made(unsigned box, const View& view, Time now) {
  ++made_frames_;
  const auto found = by_requester_.find(view.qpn());
  if (found == by_requester_.end() || !is_near(*found->second, box)) {
    report(Rule::transparent, fmt::format("box {} made a frame for nobody: {}", box, describe(view)), now);
    return;
  }
  // A box that missed the end of an older connection may still speak for it: PSNs tell the two apart.
  Flow* flow = found->second;
  const auto plausible = [&view](const Flow& f) {
    const std::int32_t end = f.plan.work->position_of(view.psn()) + (is_ack(view) ? 1 : 0);
    return end >= 0 && end <= static_cast<std::int32_t>(f.plan.work->positions());
  };
  if (!plausible(*flow))
    for (const auto& older : flows_)
      if (older->plan.requester_qpn == view.qpn() && plausible(*older)) flow = older.get();
  // The box goes by answers to the requester's next life, so nobody listens to what it says here.
  bool excused = flow != found->second && answers_mingle(*found->second);
  // The responder's QPN has another user. All of this user's requests that would have shown this were lost before the
  // box, which speaks to a requester that is gone.
  const auto takes_it_on = [flow](const auto& other) {
    return other->plan.responder_qpn == flow->plan.responder_qpn &&
           other->plan.requester_qpn != flow->plan.requester_qpn && seems_to_go_on(*flow, *other);
  };
  const bool gone = flow->requester != nullptr && flow->requester->ended();
  if ((gone || !plausible(*flow)) && std::ranges::any_of(flows_, takes_it_on)) excused = true;
  // Or this user has begun where the flow ended. The flow's requester may have a new life by now, with another
  // responder.
  if (is_for_former(view)) excused = found->second->misled = true;
  check_made(*flow, view, excused, now);
}

// The header before the BTH that is not like the responder's own, if there is one; null otherwise.
const char* Judge::wrong_header(const FlowPlan& plan, const View& view) const {
  if (!view.intact) return "ICRC or checksum";
  const auto& ethernet = *reinterpret_cast<const wire::EthernetHeader*>(view.frame.data);
  // Before the responder's first answer, the source is the address that its requester sends to.
  const bool from_there =
      ethernet.source == plan.responder.mac || ports_[plan.requester_host].next_hops.contains(ethernet.source);
  if (!from_there || ethernet.destination != plan.requester.mac) return "MAC address";
  if (!(view.frame.vlan == plan.vlan)) return "VLAN";
  const bool between = view.frame.source == plan.responder.ip && view.frame.destination == plan.requester.ip;
  return between ? nullptr : "IP address";
}

// A congestion notification: for a requester of this side, in every field like a NIC's, and with no say about requests.
void Judge::made_cnp(unsigned box, const View& view, Time now) {
  ++made_frames_;
  const auto found = by_requester_.find(view.qpn());
  if (found == by_requester_.end() || !is_near(*found->second, box))
    return report(Rule::transparent, fmt::format("box {} made a CNP for nobody: {}", box, describe(view)), now);
  const FlowPlan& plan = found->second->plan;
  const auto wrong = [&](const char* what) {
    report(Rule::indistinguishable, fmt::format("wrong {} of a CNP: {}", what, describe(view)), now);
  };
  if (const char* header = wrong_header(plan, view)) return wrong(header);
  const wire::Bth& bth = view.frame.bth();
  if (bth.p_key != plan.p_key) return wrong("P_Key");
  if (bth.flags != 0 || bth.reserved != wire::kBthBecn || bth.ack_req != 0 || bth.psn != 0) return wrong("BTH");
  const auto reserved = view.frame.payload();
  if (reserved.size() != 16 || std::ranges::any_of(reserved, [](std::uint8_t byte) { return byte != 0; }))
    return wrong("reserved bytes");
}

// The frame is in the name of a former life of its requester's QPN. It answers another requester's requests, which
// begin at exactly the PSN where that life ended (docs/design.md, section 4: what nobody can tell).
bool Judge::is_for_former(const View& view) const {
  for (auto older = flows_.begin(); older != flows_.end(); ++older) {
    const FlowPlan& plan = (*older)->plan;
    const bool gone = (*older)->requester != nullptr && (*older)->requester->ended();
    if (plan.requester_qpn != view.qpn() || (!gone && by_requester_.at(view.qpn()) == older->get())) continue;
    const std::uint32_t end = plan.work->psn_at(std::max((*older)->told, (*older)->accepted));
    if (end == plan.work->psn_at(0) || wire::psn_lt(view.psn(), end)) continue;
    const auto goes_on = [&](const auto& other) {
      return other->plan.responder_qpn == plan.responder_qpn && other->plan.requester_qpn != plan.requester_qpn &&
             other->seen_at != kNever && other->plan.work->psn_at(0) == end;
    };
    if (std::any_of(older, flows_.end(), goes_on)) return true;
  }
  return false;
}

// Its near box has it, or the life before it, from the restart record.
bool Judge::of_record(const Flow& flow) {
  return flow.remembered || (flow.before != nullptr && flow.before->remembered);
}

// An earlier life failed over a crash of its near box, which cannot tell who asks at that life's responder now. Another
// requester asks, and this one is told (docs/design.md, section 4).
bool Judge::is_of_record_for_another(const Flow& flow) const {
  return std::ranges::any_of(flows_, [&](const auto& older) {
    return older.get() != &flow && older->plan.requester_qpn == flow.plan.requester_qpn && older->remembered &&
           by_responder_.at(older->plan.responder_qpn)->plan.requester_qpn != flow.plan.requester_qpn;
  });
}

// `excused`: nobody can tell which flow the frame is for, so what it acknowledges is not checked.
void Judge::check_made(Flow& flow, const View& view, bool excused, Time now) {
  const FlowPlan& plan = flow.plan;
  if (view.frame.opcode == nullptr || view.frame.opcode->operation != wire::Operation::acknowledge)
    return report(Rule::never_invented, "an answer that the responder did not give: " + at(flow, view), now);

  const auto wrong = [&](const char* what) {
    report(Rule::indistinguishable, fmt::format("wrong {}: {}", what, at(flow, view)), now);
  };
  if (const char* header = wrong_header(plan, view)) return wrong(header);
  // For a flow of the restart record, a box goes by the request, which may be forged.
  const auto asked_so = [&](const auto& life) {
    return life->plan.requester_qpn == plan.requester_qpn && life->heard_p_key == view.frame.bth().p_key;
  };
  if (view.frame.bth().p_key != plan.p_key && !(of_record(flow) && std::ranges::any_of(flows_, asked_so)))
    return wrong("P_Key");
  if (view.frame.ack_req() || (view.frame.bth().flags & ~wire::kBthMigReq) != 0) return wrong("BTH flag");
  if (excused) return;

  const std::int32_t position = plan.work->position_of(view.psn());
  const wire::Aeth& aeth = view.frame.aeth();
  const bool ack = is_ack(view);
  const std::int32_t acknowledged_signed = ack ? position + 1 : position;
  if (acknowledged_signed < 0 || acknowledged_signed > static_cast<std::int32_t>(plan.work->positions()))
    return wrong("PSN");
  const auto acknowledged = static_cast<std::uint32_t>(acknowledged_signed);
  // The frame is for a former life of the QPs. It says nothing to a requester that has not sent this far.
  if (flow.lives_before && acknowledged > flow.requester->sent_top()) return;
  const bool fatal = wire::aeth_kind(aeth.syndrome) == wire::AethKind::nak &&
                     wire::aeth_value(aeth.syndrome) != static_cast<std::uint8_t>(wire::NakCode::psn_sequence_error);
  if (fatal) {
    flow.unheard = 0;
    if (!answers_mingle(flow)) check_syndrome(flow, view, acknowledged, now);
    return;
  }
  if (began_unseen(flow)) {
    flow.told = std::max(flow.told, acknowledged);
    return;
  }
  // Rule 1: neither the box nor the responder holds it.
  advance(flow);
  if (acknowledged > kept_until(flow))
    return report(Rule::nothing_lost,
                  fmt::format("acknowledged up to position {}, but only {} left the box or arrived: {}", acknowledged,
                              kept_until(flow), at(flow, view)),
                  now);
  // Rule 5: it acknowledges beyond a READ or atomic whose answer has not passed.
  for (const Message& m : unanswered_from(flow)) {
    if (m.begin >= acknowledged) break;
    // The responder may have said so itself. Or the requester has the part before, and asked for the rest. Or it has
    // put in order what passed here out of order.
    if (requester_has(flow, m)) continue;
    if (m.wants_response() && flow.response_next[m.number] < m.end && flow.responder_said <= m.begin &&
        acknowledged > flow.asked_from[m.number])
      return report(Rule::never_invented,
                    fmt::format("it says that the answer of READ or atomic {} at psn {} is lost: {}", m.number,
                                plan.work->psn_at(m.begin), at(flow, view)),
                    now);
  }
  // Policy window: no message's end is acknowledged before its responder has accepted it.
  if (plan.completions_true)
    for (const Message& m : std::span(plan.work->messages()).subspan(plan.work->completed_before(flow.accepted)))
      if (m.end <= acknowledged)
        return report(Rule::nothing_lost,
                      fmt::format("policy window, and message {} completes unanswered: {}", m.number, at(flow, view)),
                      now);
  const std::uint32_t msn = plan.work->completed_before(acknowledged);
  if (aeth.msn != (msn & 0xffffff)) return wrong(fmt::format("MSN (the responder's would be {})", msn).c_str());
  check_syndrome(flow, view, acknowledged, now);
  flow.told = std::max(flow.told, acknowledged);
}

void Judge::check_syndrome(Flow& flow, const View& view, std::uint32_t acknowledged, Time now) {
  const wire::Aeth& aeth = view.frame.aeth();
  const std::uint8_t value = wire::aeth_value(aeth.syndrome);
  const auto wrong = [&](Rule rule, const std::string& what) { report(rule, what + ": " + at(flow, view), now); };
  switch (wire::aeth_kind(aeth.syndrome)) {
    case wire::AethKind::ack:
      if (!flow.credits_known) return;
      if (!flow.credits && value != wire::kAckNoCredits)
        return wrong(Rule::indistinguishable, "credits that the responder does not give");
      // The box may not have used the answer yet, or may have made this ACK before it. Zero credits are always
      // allowed.
      if (value == wire::kAckNoCredits && !flow.credits_passed_on) return;
      flow.credits_passed_on = true;
      if (flow.credits && (value == wire::kAckNoCredits ||
                           (value != 0 && flow.plan.work->receives_before(acknowledged) + wire::credits_of(value) >
                                              flow.receive_limit)))
        return wrong(Rule::indistinguishable,
                     fmt::format("more credits than the responder gave (receives: {})", flow.receive_limit));
      return;
    case wire::AethKind::nak:
      if (value == static_cast<std::uint8_t>(wire::NakCode::psn_sequence_error)) {
        if (acknowledged < flow.told) return wrong(Rule::indistinguishable, "a PSN NAK for what was acknowledged");
        return;
      }
      if (flow.failed_at == kNever) {
        if (is_of_record_for_another(flow)) return;
        return wrong(Rule::fail_loudly, "a fatal NAK though the flow has not failed");
      }
      {
        // The position that its requester asks about was not acknowledged there, whatever was sent, unless the
        // responder has it by now. The requester ignores a NAK that is too old, and then never ends. A NAK that leaves
        // in a doubt has waited for its port since before the doubt.
        const std::int32_t asked = flow.doubted ? flow.asked_before_doubt : flow.asked;
        const std::uint32_t oldest =
            std::max(flow.accepted, static_cast<std::uint32_t>(std::min(asked, static_cast<std::int32_t>(flow.told))));
        flow.asked = flow.asked_earlier = flow.asked_before_doubt = kNobody;
        // An ACK that was in the box when it crashed counts as sent. The box has not seen what passed while it was
        // away, to the same life or the next.
        if (acknowledged > oldest && !of_record(flow))
          return wrong(Rule::fail_loudly,
                       fmt::format("a fatal NAK that is not for the oldest unacknowledged position {}", oldest));
      }
      return;
    case wire::AethKind::rnr_nak:
      // One for each of the responder's, with its timer.
      if (acknowledged < flow.told) return wrong(Rule::indistinguishable, "an RNR NAK for what was acknowledged");
      if (flow.rnr_naks_heard[value] == 0) return wrong(Rule::never_invented, "an RNR NAK that nobody gave");
      --flow.rnr_naks_heard[value];
      return;
    case wire::AethKind::reserved:
      return wrong(Rule::indistinguishable, "an answer that boxes do not make");
  }
}

}  // namespace longhaul::sim
