// SPDX-License-Identifier: BSD-3-Clause
// What responders execute (rule 2), and what the engines report about their flows.
#include <fmt/format.h>

#include <ranges>

#include "sim/judge.hpp"

namespace longhaul::sim {

// ---- responders -------------------------------------------------------------------------------

void Judge::Watch::say(const std::string& what, Time now) {
  if (!flow_.haunted) judge_.report(Rule::exact, fmt::format("flow {}: {}", flow_.plan.name, what), now);
}

void Judge::Watch::on_received(const View& view, bool fits) {
  judge_.note_arrived(flow_, fingerprint(view.bytes), fits);
}

void Judge::Watch::on_accepted(std::uint32_t first_psn, std::uint32_t psns, Time now) {
  const std::int32_t position = flow_.plan.work->position_of(first_psn);
  if (position != static_cast<std::int32_t>(flow_.accepted))
    say(fmt::format("psn {} was accepted, position {} was next", first_psn, flow_.accepted), now);
  flow_.accepted += psns;
  if (flow_.accepted >= flow_.plan.work->positions()) flow_.accepted_all_at = std::min(flow_.accepted_all_at, now);
}

void Judge::Watch::on_delivered(const Delivered& got, Time now) {
  const auto& messages = flow_.plan.work->messages();
  const auto say = [&](const std::string& what) {
    Watch::say(fmt::format("message {}: {}", flow_.delivered, what), now);
  };
  if (flow_.delivered >= messages.size()) return say("nobody posted it");
  const Message& posted = messages[flow_.delivered];
  if (got.kind != posted.kind) return say("another kind than what was posted");
  const bool has_data =
      posted.kind == Kind::send_imm || posted.kind == Kind::send_inv || posted.kind == Kind::write_imm;
  if (has_data && got.data != posted.data) return say("wrong immediate data or R_Key");
  if ((posted.writes() && posted.bytes != 0) || posted.wants_response())
    if (got.address != posted.address) return say("wrong address");
  if (posted.kind == Kind::read && got.size != posted.bytes) return say("wrong length");
  if (posted.atomic() &&
      (got.operand != posted.operand || (posted.kind == Kind::cmp_swap && got.compare != posted.compare)))
    return say("wrong operand");
  if (posted.sends() || posted.writes() || posted.kind == Kind::unknown) {
    std::vector<std::uint8_t> bytes(posted.bytes);
    flow_.plan.work->contents(posted, 0, bytes);
    if (bytes != got.bytes) return say("other bytes than were posted");
  }
  ++flow_.delivered;
}

void Judge::Watch::on_malformed(const std::string& what, Time now) { say(what, now); }

// ---- what the engine reports ------------------------------------------------------------------

void Judge::Observer::on_flow_learned(const custody::FlowIdentity& identity, Time) {
  const auto found = judge_.by_requester_.find(identity.requester_qpn);
  if (found == judge_.by_requester_.end() || !judge_.is_near(*found->second, box_) ||
      found->second->plan.responder_qpn != identity.responder_qpn)
    return;
  judge_.by_serial_[{box_, identity.serial}] = found->second;
  // The box may have known it from RDMA-CM messages before, and now follows it anew.
  found->second->failed_at = kNever;
  found->second->closed = found->second->doubted = false;
}

void Judge::Observer::on_pseudo_ack(const custody::FlowIdentity& identity, const custody::AckFields& ack, Time) {
  Flow* flow = find(identity);
  if (flow == nullptr) return;
  const std::int32_t position = flow->plan.work->position_of(ack.psn);
  if (position >= 0) flow->in_port = std::max(flow->in_port, static_cast<std::uint32_t>(position) + 1);
}

// At most one in 50 us for each flow, and none for a flow whose requester may be another. (The engine's time leaves out
// the pauses of its box.)
void Judge::Observer::on_cnp_made(const custody::FlowIdentity& identity, bool silent, Time now) {
  constexpr Duration kInterval = microseconds(50);
  Flow* flow = find(identity);
  if (flow == nullptr) return;
  if (silent)
    judge_.report(Rule::indistinguishable, fmt::format("flow {}: a CNP in a doubt", flow->plan.name), judge_.now_);
  if (flow->cnp_at != kNever && flow->cnp_at >= flow->started_at && now < flow->cnp_at + kInterval)
    judge_.report(Rule::bounded, fmt::format("flow {}: two CNPs within {} ns", flow->plan.name, now - flow->cnp_at),
                  judge_.now_);
  flow->cnp_at = now;
}

void Judge::Observer::on_doubted(const custody::FlowIdentity& identity, Time) {
  for_lives(identity, [this](Flow& flow) {
    flow.doubted = true;
    flow.asked_before_doubt = flow.asked_at == judge_.now_ ? flow.asked_earlier : flow.asked;
  });
}

void Judge::Observer::on_resumed(const custody::FlowIdentity& identity, Time) {
  for_lives(identity, [](Flow& flow) { flow.doubted = false; });
}

// From here on the box follows the newest life of these QPs. That may be the previous life, whose requester missed an
// acknowledgement and asks again.
void Judge::Observer::on_began_again(const custody::FlowIdentity& identity, Time now) {
  judge_.by_serial_.erase({box_, identity.serial});
  // A waiting DREQ may belong to the previous life, and is dropped. Its sender repeats it if need be.
  std::erase_if(judge_.ports_[box_].dreqs,
                [&identity](const auto& dreq) { return dreq.first >> 8 == identity.requester_qpn; });
  on_flow_learned(identity, now);
  Flow* flow = find(identity);
  if (flow != nullptr && flow->requester != nullptr)
    flow->told = flow->in_port = std::min(flow->told, flow->requester->unacknowledged());
}

void Judge::Observer::on_unconfirmed_in_doubt(const custody::FlowIdentity& identity, std::uint64_t, std::uint64_t,
                                              Time) {
  note_said(identity);
}

Judge::Flow* Judge::Observer::find(const custody::FlowIdentity& identity) const {
  const auto found = judge_.by_serial_.find({box_, identity.serial});
  return found == judge_.by_serial_.end() ? nullptr : found->second;
}

void Judge::Observer::on_found_in_record(const custody::FlowIdentity& identity, std::uint64_t) {
  // A box cannot know which life the record is of: another may have begun before the crash, or since.
  for_lives(identity, [](Flow& flow) {
    flow.failed_at = flow.started_at;
    flow.visible = flow.visible || flow.told > flow.accepted;
  });
  for (const auto& flow : judge_.flows_ | std::views::reverse) {
    const FlowPlan& plan = flow->plan;
    if (!flow->remembered || !judge_.is_near(*flow, box_)) continue;
    if (plan.requester_qpn != identity.requester_qpn || plan.responder_qpn != identity.responder_qpn) continue;
    judge_.by_serial_[{box_, identity.serial}] = flow.get();
    return;
  }
}

void Judge::Observer::on_flow_failed(const custody::FlowIdentity& identity, std::string_view, std::uint64_t, Time) {
  note_said(identity);
  // Where lives came back crosswise, the box may have begun to follow these QPs while others lived on them.
  Flow* flow = find(identity);
  if (flow == nullptr) return;
  // The flow may be a later life of the same QPs, which the box took over without noticing the end of the previous one.
  const auto found = judge_.by_requester_.find(identity.requester_qpn);
  if (found != judge_.by_requester_.end() && found->second->plan.responder_qpn == identity.responder_qpn &&
      found->second->contiguous > 0)
    flow = found->second;
  flow->failed_at = judge_.now_;
}

// The identity names QPNs and stands for all their lives: a box cannot know which one it was.
void Judge::Observer::for_lives(const custody::FlowIdentity& identity, const std::function<void(Flow&)>& what) {
  for (const auto& flow : judge_.flows_)
    if (judge_.is_near(*flow, box_) && flow->plan.requester_qpn == identity.requester_qpn &&
        flow->plan.responder_qpn == identity.responder_qpn)
      what(*flow);
}

void Judge::Observer::note_said(const custody::FlowIdentity& identity) {
  for_lives(identity, [](Flow& flow) {
    flow.visible = flow.visible || std::max(flow.told, flow.in_port) > flow.accepted;
    flow.given_up = std::max(flow.given_up, flow.told);
  });
}

void Judge::Observer::on_unconfirmed_at_close(const custody::FlowIdentity& identity, std::uint64_t packets,
                                              std::uint64_t, Time) {
  note_said(identity);
  const Flow* flow = find(identity);
  if (flow != nullptr && !judge_.has_ended(*flow))
    judge_.report(
        Rule::nothing_lost,
        fmt::format("flow {}: {} packets of custody were discarded, and nobody had ended it", flow->plan.name, packets),
        judge_.now_);
}

void Judge::Observer::on_closed_untold(const custody::FlowIdentity& identity, std::uint64_t, Time) {
  constexpr Duration kIdle = seconds(600);  // after this a full table may reuse its place
  note_said(identity);
  const Flow* flow = find(identity);
  if (flow != nullptr && !flow->doubted && !judge_.has_ended(*flow) && judge_.now_ - flow->heard_at < kIdle)
    judge_.report(Rule::fail_loudly,
                  fmt::format("flow {} failed, and is forgotten before its requester was told", flow->plan.name),
                  judge_.now_);
}

void Judge::Observer::on_flow_closed(const custody::FlowIdentity& identity, std::uint64_t, Time) {
  if (Flow* flow = find(identity)) flow->closed = true;
}

}  // namespace longhaul::sim
