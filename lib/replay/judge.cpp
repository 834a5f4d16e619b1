// SPDX-License-Identifier: BSD-3-Clause
#include "replay/judge.hpp"

#include "wire/psn.hpp"

namespace longhaul::replay {
namespace {

std::tuple<std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>, std::uint32_t> ends_of(
    const custody::FlowIdentity& flow) {
  return {flow.requester.bytes, flow.responder.bytes, flow.responder_qpn};
}

void raise(std::optional<std::uint32_t>& highest, std::uint32_t psn) {
  if (!highest || wire::psn_lt(*highest, psn)) highest = psn;
}

Treatment treatment_of(bool icrc_ok, const Fates& fates) {
  if (!icrc_ok) return Treatment::bad_icrc;
  if (fates.rose(Counter::dropped_beyond_gap)) return Treatment::beyond_gap;
  if (fates.rose(Counter::plain_requests)) return Treatment::plain;
  return Treatment::other;
}

}  // namespace

Judge::Flow& Judge::flow_of(const custody::FlowIdentity& flow) {
  const auto [found, added] = flows_.try_emplace(flow.serial);
  if (added) {
    found->second.report.flow = flow;
    newest_[ends_of(flow)] = flow.serial;
  }
  return found->second;
}

void Judge::on_flow_learned(const custody::FlowIdentity& flow, Time) { flow_of(flow); }

void Judge::on_flow_closed(const custody::FlowIdentity& identity, std::uint64_t packets_left, Time) {
  FlowReport& report = flow_of(identity).report;
  report.custody_left = packets_left;
  report.end = packets_left == 0 ? FlowReport::End::orderly : FlowReport::End::custody_left;
}

void Judge::on_pseudo_ack(const custody::FlowIdentity& identity, const custody::AckFields& ack, Time) {
  Flow& flow = flow_of(identity);
  ++flow.report.pseudo_acks;
  flow.report.confirmed = true;
  flow.pseudo[ack.psn] = ack;
}

void Judge::on_real_ack(const custody::FlowIdentity& identity, const custody::AckFields& ack, bool confirmed,
                        std::uint32_t frontier, Time) {
  Flow& flow = flow_of(identity);
  ++real_acks;
  ++flow.report.real_acks;
  flow.acked_in_this_frame = true;
  flow.report.confirmed = flow.report.confirmed || confirmed;

  if (!comparing_ || !confirmed) {
    ++real_acks_forwarded;
    raise(flow.acked_before_confirmation, ack.psn);
    return;
  }
  if (const auto made = flow.pseudo.find(ack.psn); made != flow.pseudo.end()) {
    compare(flow, ack, made->second);
    return;
  }
  ++real_acks_unmatched;
  const Seen* request = flow.history.find(ack.psn);
  unmatched.push_back({frame_, flow.report.flow, ack.psn, frontier, request != nullptr ? request->first_frame : 0,
                       reason_for(flow, ack.psn, frontier)});
  if (wire::psn_le(frontier, ack.psn)) raise(flow.acked_by_responder_first, ack.psn);
}

void Judge::compare(Flow& flow, const custody::AckFields& real, const custody::AckFields& pseudo) {
  if (real == pseudo) {
    ++real_acks_matched;
    ++flow.report.matched;
    return;
  }
  ++real_acks_mismatched;
  const auto differ = [&](const char* field, std::uint32_t real_value, std::uint32_t pseudo_value) {
    if (real_value == pseudo_value) return;
    mismatches.push_back({frame_, flow.report.flow, real.psn, field, real_value, pseudo_value});
  };
  differ("destination_qpn", real.destination_qpn, pseudo.destination_qpn);
  differ("msn", real.msn, pseudo.msn);
  differ("syndrome", real.syndrome, pseudo.syndrome);
  differ("p_key", real.p_key, pseudo.p_key);
}

void Judge::end_frame(const wire::Frame* parsed, bool icrc_ok, const Fates& fates) {
  if (fates.rose(Counter::flows_confirmed)) {
    for (auto& [serial, flow] : flows_) flow.report.confirmed = flow.report.confirmed || flow.acked_in_this_frame;
  }
  for (auto& [serial, flow] : flows_) flow.acked_in_this_frame = false;

  if (parsed == nullptr) return;
  const bool response = parsed->opcode != nullptr && parsed->opcode->is_response();
  if (response) return;
  const auto found = newest_.find({parsed->source.bytes, parsed->destination.bytes, parsed->destination_qpn()});
  if (found == newest_.end()) return;
  Flow& flow = flows_.at(found->second);
  ++flow.report.requests;
  flow.history.note(*parsed, frame_, treatment_of(icrc_ok, fates));
}

std::vector<FlowReport> Judge::flows() const {
  std::vector<FlowReport> reports;
  for (const auto& [serial, flow] : flows_) reports.push_back(flow.report);
  return reports;
}

}  // namespace longhaul::replay
