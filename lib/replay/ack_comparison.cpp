// SPDX-License-Identifier: BSD-3-Clause
#include "replay/ack_comparison.hpp"

#include <fmt/format.h>

#include <utility>

#include "wire/credits.hpp"
#include "wire/psn.hpp"

namespace longhaul::replay {
namespace {

void raise(std::optional<std::uint32_t>& highest, std::uint32_t psn) {
  if (!highest || wire::psn_lt(*highest, psn)) highest = psn;
}

Treatment treatment_of(bool icrc_ok, const Fates& fates) {
  if (!icrc_ok) return Treatment::bad_icrc;
  if (fates.rose(Counter::dropped_beyond_gap)) return Treatment::beyond_gap;
  if (fates.rose(Counter::plain_requests)) return Treatment::plain;
  return Treatment::other;
}

// A responder that has posted receives since its last answer has more credits than the box could know of; fewer are no
// lie (IBTA vol. 1, 9.7.7.2).
bool tells_no_more(std::uint8_t pseudo, std::uint8_t real) {
  return pseudo < wire::kAckNoCredits && real < wire::kAckNoCredits &&
         wire::credits_of(pseudo) < wire::credits_of(real);
}

}  // namespace

AckComparison::Flow& AckComparison::flow_of(const custody::FlowIdentity& flow) {
  const auto [found, added] = flows_.try_emplace(flow.serial);
  if (added) {
    found->second.report.flow = flow;
    by_request_[{flow.requester.bytes, flow.responder.bytes, flow.responder_qpn}] = flow.serial;
    by_answer_[{flow.responder.bytes, flow.requester.bytes, flow.requester_qpn}] = flow.serial;
  }
  return found->second;
}

void AckComparison::on_flow_learned(const custody::FlowIdentity& flow, Time) { flow_of(flow); }

void AckComparison::on_waited_in_vain(const custody::FlowIdentity& flow, std::span<const std::uint8_t> frame) {
  waited_in_vain_.emplace_back(frame.begin(), frame.end());
  wire::Frame parsed;
  if (wire::is_roce(wire::parse(frame, parsed))) flow_of(flow).history.note_beyond_gap(parsed.psn());
}

void AckComparison::on_flow_closed(const custody::FlowIdentity& identity, std::uint64_t packets_left, Time) {
  FlowReport& report = flow_of(identity).report;
  report.custody_left = packets_left;
  report.end = packets_left == 0 ? FlowReport::End::orderly : FlowReport::End::custody_left;
}

void AckComparison::on_pseudo_ack(const custody::FlowIdentity& identity, const custody::AckFields& ack, Time) {
  Flow& flow = flow_of(identity);
  ++flow.report.pseudo_acks;
  flow.report.confirmed = true;
  flow.pseudo[ack.psn] = ack;
}

void AckComparison::on_real_ack(const custody::FlowIdentity& identity, const custody::AckFields& ack, bool confirmed,
                                std::uint32_t frontier, Time) {
  Flow& flow = flow_of(identity);
  ++real_acks;
  ++flow.report.real_acks;
  told_ = true;
  flow.frontier = frontier;
  flow.report.confirmed = flow.report.confirmed || confirmed;

  if (!comparing_ || !confirmed) {
    ++real_acks_forwarded;
    verdict_ = {AckVerdict::Kind::not_comparable, ""};
    raise(flow.acked_before_confirmation, ack.psn);
    return;
  }
  if (const auto made = flow.pseudo.find(ack.psn); made != flow.pseudo.end()) {
    compare(flow, ack, made->second);
    return;
  }
  ++real_acks_unmatched;
  ++flow.report.unmatched;
  const Seen* request = flow.history.find(ack.psn);
  unmatched.push_back({frame_, flow.report.flow, ack.psn, frontier, request != nullptr ? request->first_frame : 0,
                       reason_for(flow, ack.psn, frontier)});
  verdict_ = {AckVerdict::Kind::unmatched, unmatched.back().reason};
  if (wire::psn_le(frontier, ack.psn)) raise(flow.acked_by_responder_first, ack.psn);
}

void AckComparison::compare(Flow& flow, const custody::AckFields& real, const custody::AckFields& pseudo) {
  const bool fewer_credits = tells_no_more(pseudo.syndrome, real.syndrome);
  custody::AckFields as_good = pseudo;
  if (fewer_credits) as_good.syndrome = real.syndrome;
  if (real == as_good) {
    ++real_acks_matched;
    ++flow.report.matched;
    verdict_ = {AckVerdict::Kind::equal, fewer_credits ? "equal, with fewer credits" : "equal"};
    return;
  }
  ++real_acks_mismatched;
  ++flow.report.mismatched;
  verdict_ = {AckVerdict::Kind::differs, ""};
  const auto differ = [&](const char* field, std::uint32_t real_value, std::uint32_t pseudo_value) {
    if (real_value == pseudo_value) return;
    verdict_.text += fmt::format("{}{} is 0x{:x}, the pseudo-ACK said 0x{:x}", verdict_.text.empty() ? "" : ", ", field,
                                 real_value, pseudo_value);
    mismatches.push_back({frame_, flow.report.flow, real.psn, field, real_value, pseudo_value});
  };
  differ("destination_qpn", real.destination_qpn, pseudo.destination_qpn);
  differ("msn", real.msn, pseudo.msn);
  differ("syndrome", real.syndrome, pseudo.syndrome);
  differ("p_key", real.p_key, pseudo.p_key);
}

const Seen* AckComparison::request_answered_by(const wire::Frame& answer) const {
  const Flow* const flow = flow_at(by_answer_, answer);
  return flow == nullptr ? nullptr : flow->history.find(answer.psn());
}

const Seen* AckComparison::request_like(const wire::Frame& request) const {
  const Flow* const flow = flow_at(by_request_, request);
  return flow == nullptr ? nullptr : flow->history.find(request.psn());
}

AckComparison::Flow* AckComparison::flow_at(const std::map<Ends, std::uint64_t>& index, const wire::Frame& frame) {
  return const_cast<Flow*>(std::as_const(*this).flow_at(index, frame));
}

const AckComparison::Flow* AckComparison::flow_at(const std::map<Ends, std::uint64_t>& index,
                                                  const wire::Frame& frame) const {
  const auto found = index.find({frame.source.bytes, frame.destination.bytes, frame.destination_qpn()});
  return found == index.end() ? nullptr : &flows_.at(found->second);
}

void AckComparison::compare_untold(Flow& flow, const wire::Frame& frame) {
  const wire::Aeth& aeth = frame.aeth();
  if (wire::aeth_kind(aeth.syndrome) != wire::AethKind::ack) return;
  on_real_ack(flow.report.flow, {frame.destination_qpn(), frame.psn(), aeth.msn, aeth.syndrome, frame.bth().p_key},
              flow.report.confirmed, flow.frontier, 0);
}

void AckComparison::end_frame(const wire::Frame* parsed, Side side, bool icrc_ok, const Fates& fates) {
  if (parsed == nullptr) return;
  if (parsed->opcode != nullptr && parsed->opcode->is_response()) {
    Flow* const flow = flow_at(by_answer_, *parsed);
    // READ responses confirm flows too, but the observer does not hear of them.
    if (flow != nullptr && fates.rose(Counter::flows_confirmed)) flow->report.confirmed = true;
    const bool open = flow != nullptr && flow->report.end == FlowReport::End::open;
    if (open && !told_ && icrc_ok && side == Side::wan && parsed->opcode->operation == wire::Operation::acknowledge) {
      compare_untold(*flow, *parsed);
    }
    return;
  }
  Flow* const flow = flow_at(by_request_, *parsed);
  if (flow == nullptr) return;
  ++flow->report.requests;
  flow->history.note(*parsed, frame_, treatment_of(icrc_ok, fates));
}

std::vector<FlowReport> AckComparison::flows() const {
  std::vector<FlowReport> reports;
  for (const auto& [serial, flow] : flows_) reports.push_back(flow.report);
  return reports;
}

}  // namespace longhaul::replay
