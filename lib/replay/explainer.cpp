// SPDX-License-Identifier: BSD-3-Clause
#include "replay/explainer.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/phase.hpp"

namespace longhaul::replay {
namespace {

constexpr std::size_t kMostConnections = 65536;
constexpr std::size_t kMostEvents = 20;

bool is_answer(const wire::Frame& frame) { return frame.opcode != nullptr && frame.opcode->is_response(); }

std::uint64_t passed_plain(const Explained& of) {
  return std::accumulate(of.plain.begin(), of.plain.end(), std::uint64_t{0});
}

/// Of a connection that the box never knew.
struct Unknown {
  std::string_view reason;
  bool (*holds)(const Explained&, std::uint64_t answers, std::uint64_t ambiguous);
  std::string_view why;
};

// The first that holds is given.
constexpr Unknown kUnknown[] = {
    {"not_divided", [](const Explained& of, std::uint64_t, std::uint64_t) { return !of.divided; },
     "both hosts are on one side of the box (--near), so no box stands between them"},
    {"requester_far", [](const Explained& of, std::uint64_t, std::uint64_t) { return !of.near; },
     "its requester is beyond the WAN: the box at that side accelerates it"},
    {"requests_damaged", [](const Explained& of, std::uint64_t, std::uint64_t) { return of.damaged == of.requests; },
     "the ICRC of its requests is wrong"},
    {"no_answers", [](const Explained&, std::uint64_t answers, std::uint64_t) { return answers == 0; },
     "no answer came back this way: they take another path, or are not in the capture"},
    {"ambiguous", [](const Explained&, std::uint64_t, std::uint64_t ambiguous) { return ambiguous > 0; },
     "no RDMA-CM in the capture, and answers fitted several connections between its hosts (equal PSNs)"},
    {"unknown", [](const Explained&, std::uint64_t, std::uint64_t) { return true; },
     "no RDMA-CM in the capture, and too few answers to learn it from its traffic"},
};

std::string vlan_text(wire::VlanKey vlan) {
  const std::uint32_t tags = vlan.value >> 24;
  if (tags == 0) return "";
  const std::uint32_t outer = vlan.value >> 12 & 0xfff;
  return tags == 1 ? fmt::format("{}", outer) : fmt::format("{}.{}", outer, vlan.value & 0xfff);
}

std::string plain_text(const Explained& of) {
  std::string out;
  for (std::size_t i = 0; i < kPlainCauses; ++i)
    if (of.plain[i] > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", of.plain[i], kPlainCauseInfo[i].name);
  return out;
}

nlohmann::ordered_json ece_json(const wire::Ece& ece) {
  if (!ece.given()) return nullptr;
  return {{"vendor_id", ece.vendor_id}, {"attribute_modifier", ece.attribute_modifier}};
}

}  // namespace

Explained* Explainer::entry(const wire::IpAddress& requester, const wire::IpAddress& responder, wire::VlanKey vlan,
                            std::uint32_t responder_qpn, bool anew) {
  const Key key{vlan.value, requester.bytes, responder.bytes, responder_qpn};
  const auto found = index_.find(key);
  if (found != index_.end() && !(anew && all_[found->second].learned_frame)) return &all_[found->second];
  if (all_.size() == kMostConnections) {
    ++unlisted_;
    return nullptr;
  }
  index_[key] = all_.size();
  Explained& added = all_.emplace_back();
  added.requester = requester;
  added.responder = responder;
  added.vlan = vlan;
  added.responder_qpn = responder_qpn;
  added.near = near_.is_near(requester);
  added.divided = added.near != near_.is_near(responder);
  added.first_frame = added.last_frame = frame_;
  return &added;
}

Explained* Explainer::entry_of(const custody::FlowIdentity& flow) {
  const auto found = by_serial_.find(flow.serial);
  return found == by_serial_.end() ? nullptr : &all_[found->second];
}

void Explainer::note(const custody::FlowIdentity& flow, std::string what) {
  Explained* of = entry_of(flow);
  if (of != nullptr && of->events.size() < kMostEvents) of->events.push_back({frame_, std::move(what)});
}

void Explainer::begin_frame(std::uint64_t number, const wire::Frame* parsed, bool icrc_ok) {
  frame_ = number;
  parsed_ = parsed;
  const Counters& counters = engine_->counters();
  ambiguous_before_ = counters[Counter::traffic_ambiguous];
  changes_before_ = counters[Counter::flows_confirmed] + counters[Counter::flows_rejoined];
  if (parsed == nullptr) return;
  vlan_ = parsed->vlan;
  if (parsed->service() != wire::Service::rc) return;
  if (is_answer(*parsed)) {
    ++answers_[{vlan_.value, parsed->destination.bytes, parsed->source.bytes}].frames;
    return;
  }
  Explained* of = entry(parsed->source, parsed->destination, vlan_, parsed->destination_qpn(), false);
  if (of == nullptr) return;
  of->last_frame = frame_;
  ++of->requests;
  if (parsed->asks_for_ack()) ++of->ack_requests;
  if (!icrc_ok) ++of->damaged;
}

void Explainer::end_frame() {
  const Counters& counters = engine_->counters();
  if (parsed_ != nullptr && counters[Counter::traffic_ambiguous] != ambiguous_before_)
    ++answers_[{vlan_.value, parsed_->destination.bytes, parsed_->source.bytes}].ambiguous;
  if (counters[Counter::flows_confirmed] + counters[Counter::flows_rejoined] != changes_before_) look();
  parsed_ = nullptr;
}

// What the engine knows of its connections now.
void Explainer::look() {
  states_.clear();
  engine_->describe(0, engine_->connection_slots(), 0, states_);
  for (const engine::ConnectionState& state : states_) take(state);
}

void Explainer::take(const engine::ConnectionState& state) {
  const auto found = by_serial_.find(state.serial);
  if (found == by_serial_.end()) return;
  Explained& of = all_[found->second];
  of.from_traffic = state.from_traffic;
  of.plain = state.plain;
  of.state = name_of(state.phase);
  of.ece = state.info.ece;
  if (state.phase == custody::Phase::confirmed && !of.confirmed_frame) of.confirmed_frame = frame_;
}

const std::vector<Explained>& Explainer::finish() {
  look();
  for (Explained& of : all_) judge(of);
  std::stable_sort(all_.begin(), all_.end(),
                   [](const Explained& a, const Explained& b) { return a.first_frame < b.first_frame; });
  return all_;
}

void Explainer::judge(Explained& of) const {
  if (!of.learned_frame) {
    const auto found = answers_.find({of.vlan.value, of.requester.bytes, of.responder.bytes});
    const Answers answers = found == answers_.end() ? Answers{} : found->second;
    const auto* const known = std::find_if(std::begin(kUnknown), std::end(kUnknown), [&](const Unknown& one) {
      return one.holds(of, answers.frames, answers.ambiguous);
    });
    of.reason = known->reason;
    of.why = known->why;
    return;
  }
  const std::uint64_t plain = passed_plain(of);
  if (of.pseudo_acks > 0) {
    of.reason = "accelerated";
    of.why = plain == 0 ? "accelerated" : "accelerated, but for what passed plain";
    return;
  }
  if (of.ack_requests == 0) {
    of.reason = "nothing_to_acknowledge";
    of.why = of.requests == 0 ? "it sent no requests" : "none of its requests is a SEND or WRITE with AckReq";
    return;
  }
  if (plain == 0) {
    of.reason = "not_confirmed";
    of.why = "no real answer has confirmed it, or its requests wait behind a READ or for room";
    return;
  }
  const auto cause = static_cast<std::size_t>(std::max_element(of.plain.begin(), of.plain.end()) - of.plain.begin());
  of.reason = kPlainCauseInfo[cause].name;
  of.why = kPlainCauseInfo[cause].why;
}

void Explainer::on_pseudo_ack(const custody::FlowIdentity& flow, const custody::AckFields& ack, Time now) {
  if (Explained* of = entry_of(flow); of != nullptr) {
    ++of->pseudo_acks;
    if (!of->confirmed_frame) of->confirmed_frame = frame_;  // by RDMA-CM
  }
  next_.on_pseudo_ack(flow, ack, now);
}

void Explainer::on_real_ack(const custody::FlowIdentity& flow, const custody::AckFields& ack, bool confirmed,
                            std::uint32_t frontier, Time now) {
  next_.on_real_ack(flow, ack, confirmed, frontier, now);
}

void Explainer::on_flow_learned(const custody::FlowIdentity& flow, Time now) {
  if (Explained* of = entry(flow.requester, flow.responder, vlan_, flow.responder_qpn, true); of != nullptr) {
    of->learned_frame = frame_;
    of->requester_qpn = flow.requester_qpn;
    of->from_traffic = parsed_ != nullptr && parsed_->service() == wire::Service::rc;
    by_serial_[flow.serial] = static_cast<std::size_t>(of - all_.data());
  }
  next_.on_flow_learned(flow, now);
}

void Explainer::on_flow_failed(const custody::FlowIdentity& flow, std::string_view why, std::uint64_t bytes, Time now) {
  note(flow, fmt::format("failed with {} bytes: {}", bytes, why));
  next_.on_flow_failed(flow, why, bytes, now);
}

void Explainer::on_doubted(const custody::FlowIdentity& flow, Time now) {
  note(flow, "doubted");
  next_.on_doubted(flow, now);
}

void Explainer::on_resumed(const custody::FlowIdentity& flow, Time now) {
  note(flow, "resumed");
  next_.on_resumed(flow, now);
}

void Explainer::on_began_again(const custody::FlowIdentity& flow, Time now) {
  note(flow, "began again");
  next_.on_began_again(flow, now);
}

void Explainer::on_unconfirmed_at_close(const custody::FlowIdentity& flow, std::uint64_t packets, std::uint64_t bytes,
                                        Time now) {
  note(flow, fmt::format("closed by the responder's side with {} packets unconfirmed", packets));
  next_.on_unconfirmed_at_close(flow, packets, bytes, now);
}

void Explainer::on_flow_closed(const custody::FlowIdentity& flow, std::uint64_t packets_left, Time now) {
  look();  // it is still there
  if (Explained* of = entry_of(flow); of != nullptr) of->closed = true;
  next_.on_flow_closed(flow, packets_left, now);
}

nlohmann::ordered_json explained_json(const std::vector<Explained>& all, std::uint64_t unlisted) {
  using Json = nlohmann::ordered_json;
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json out = {{"connections", Json::array()}, {"unlisted", unlisted}};
  for (const Explained& of : all) {
    Json one = {{"requester", of.requester.to_string()},
                {"requester_qpn", number(of.requester_qpn)},
                {"responder", of.responder.to_string()},
                {"responder_qpn", of.responder_qpn},
                {"vlan", vlan_text(of.vlan)},
                {"reason", of.reason},
                {"why", of.why},
                {"first_frame", of.first_frame},
                {"last_frame", of.last_frame},
                {"requests", of.requests},
                {"ack_requests", of.ack_requests},
                {"icrc_bad", of.damaged}};
    one["learned"] = of.learned_frame ? Json(of.from_traffic ? "traffic" : "rdma_cm") : Json();
    one["learned_frame"] = number(of.learned_frame);
    one["confirmed_frame"] = number(of.confirmed_frame);
    one["pseudo_acks"] = of.pseudo_acks;
    one["not_accelerated"] = Json::object();
    for (std::size_t i = 0; i < kPlainCauses; ++i)
      if (of.plain[i] > 0) one["not_accelerated"][std::string(kPlainCauseInfo[i].name)] = of.plain[i];
    one["state"] = of.state;
    one["closed"] = of.closed;
    one["ece"] = nullptr;
    if (of.ece) one["ece"] = {{"offered", ece_json(of.ece->offered)}, {"accepted", ece_json(of.ece->accepted)}};
    one["events"] = Json::array();
    for (const Explained::Event& event : of.events)
      one["events"].push_back({{"frame", event.frame}, {"what", event.what}});
    out["connections"].push_back(std::move(one));
  }
  return out;
}

std::string explained_text(const std::vector<Explained>& all, std::uint64_t unlisted) {
  std::string out = fmt::format("\nwhy: {} connections, each direction by itself\n", all.size());
  for (const Explained& of : all) {
    const std::string vlan = vlan_text(of.vlan);
    out += fmt::format("  {} {} -> {} 0x{:06x}{}: {}\n", of.requester.to_string(),
                       of.requester_qpn ? fmt::format("0x{:06x}", *of.requester_qpn) : "(QPN unknown)",
                       of.responder.to_string(), of.responder_qpn, vlan.empty() ? "" : ", VLAN " + vlan, of.why);
    out += fmt::format("    frames {} to {}: {} requests, {} of them SENDs and WRITEs with AckReq", of.first_frame,
                       of.last_frame, of.requests, of.ack_requests);
    if (of.damaged > 0) out += fmt::format(", {} with a wrong ICRC", of.damaged);
    out += '\n';
    if (!of.learned_frame) continue;
    out += fmt::format("    learned from {} at frame {}, ", of.from_traffic ? "its traffic" : "RDMA-CM",
                       *of.learned_frame);
    out += of.confirmed_frame ? fmt::format("confirmed at frame {}", *of.confirmed_frame) : "never confirmed";
    out += fmt::format("; {} pseudo-ACKs", of.pseudo_acks);
    if (const std::string plain = plain_text(of); !plain.empty()) out += "; passed plain: " + plain;
    if (of.closed) out += "; closed";
    out += '\n';
    if (of.ece && of.ece->accepted.given())
      out += fmt::format("    vendor features of 0x{:x}, options 0x{:x}\n", of.ece->accepted.vendor_id,
                         of.ece->accepted.attribute_modifier);
    for (const Explained::Event& event : of.events) out += fmt::format("    frame {}: {}\n", event.frame, event.what);
  }
  if (unlisted > 0)
    out += fmt::format("  and {} requests of connections beyond the first {}\n", unlisted, kMostConnections);
  return out;
}

}  // namespace longhaul::replay
