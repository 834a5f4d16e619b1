// SPDX-License-Identifier: BSD-3-Clause
#include "replay/report.hpp"

namespace longhaul::replay {
namespace {

using Json = nlohmann::ordered_json;

Json flow_json(const custody::FlowIdentity& flow) {
  return {{"requester", flow.requester.to_string()},
          {"requester_qpn", flow.requester_qpn},
          {"responder", flow.responder.to_string()},
          {"responder_qpn", flow.responder_qpn}};
}

Json mismatch_json(const Mismatch& mismatch) {
  return {{"frame", mismatch.frame}, {"flow", flow_json(mismatch.flow)}, {"psn", mismatch.psn},
          {"field", mismatch.field}, {"expected", mismatch.real},        {"got", mismatch.pseudo}};
}

Json unmatched_json(const Unmatched& unmatched) {
  return {{"frame", unmatched.frame},       {"flow", flow_json(unmatched.flow)},        {"psn", unmatched.psn},
          {"frontier", unmatched.frontier}, {"request_frame", unmatched.request_frame}, {"reason", unmatched.reason}};
}

Json flow_report_json(const FlowReport& report) {
  Json json = flow_json(report.flow);
  json["confirmed"] = report.confirmed;
  json["requests"] = report.requests;
  json["pseudo_acks"] = report.pseudo_acks;
  json["real_acks"] = report.real_acks;
  json["matched"] = report.matched;
  json["mismatched"] = report.mismatched;
  json["unmatched"] = report.unmatched;
  json["end"] = name_of(report.end);
  json["custody_left"] = report.custody_left;
  return json;
}

Json conversation_json(const Conversation& conversation) {
  Json json = Json::array();
  for (const auto& host : conversation.hosts) {
    json.push_back({{"address", host.address.to_string()},
                    {"near", host.near},
                    {"frames", host.frames},
                    {"requests", host.requests}});
  }
  return json;
}

Json counters_json(const Counters& counters) {
  Json json = Json::object();
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i)
    json[std::string(metrics::kCounterInfo[i].name)] = counters.events[i];
  return json;
}

Json parse_json(const Counters& counters) {
  Json json = Json::object();
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i) {
    json[std::string(wire::name_of(static_cast<wire::ParseStatus>(i)))] = counters.parsed[i];
  }
  return json;
}

Json not_forwarded_json(const Result& result) {
  Json json = Json::object();
  for (const Counter counter : not_forwarded_counters()) json[std::string(name_of(counter))] = result.counters[counter];
  json["waiting"] = result.waiting;
  return json;
}

Json made_json(const Counters& counters) {
  Json json = Json::object();
  for (const Counter counter : made_counters()) json[std::string(name_of(counter))] = counters[counter];
  return json;
}

}  // namespace

std::string_view name_of(FlowReport::End end) {
  switch (end) {
    case FlowReport::End::open:
      return "open";
    case FlowReport::End::orderly:
      return "orderly";
    case FlowReport::End::custody_left:
      return "custody_left";
  }
  return "";
}

Json to_json(const Result& result, const AckComparison& comparison) {
  const Counters& counters = result.counters;
  Json json = {
      {"frames", result.frames},
      {"requests", counters[Counter::requests]},
      {"pseudo_acks", counters[Counter::pseudo_acks]},
      {"real_acks", comparison.real_acks},
      {"real_acks_matched", comparison.real_acks_matched},
      {"real_acks_mismatched", comparison.real_acks_mismatched},
      {"real_acks_unmatched", comparison.real_acks_unmatched},
      {"real_acks_forwarded", comparison.real_acks_forwarded},
      {"roce", result.roce},
      {"rc", result.rc},
      {"icrc_bad", result.icrc_bad},
      {"flows_learned", counters[Counter::flows_learned]},
      {"custody_left_packets", result.custody_left_packets},
      {"custody_left_bytes", result.custody_left_bytes},
      {"forwarded_host", counters[Counter::forwarded_host]},
      {"forwarded_wan", counters[Counter::forwarded_wan]},
      {"not_forwarded", not_forwarded_json(result)},
      {"sum_ok", sums_to_input(result)},
      {"emitted_host", result.emitted_host},
      {"emitted_wan", result.emitted_wan},
      {"made", made_json(counters)},
      {"truncated", result.truncated},
      {"clock_steps_back", result.clock_steps_back},
  };
  json["mismatches"] = Json::array();
  for (const auto& mismatch : comparison.mismatches) json["mismatches"].push_back(mismatch_json(mismatch));
  json["unmatched"] = Json::array();
  for (const auto& unmatched : comparison.unmatched) json["unmatched"].push_back(unmatched_json(unmatched));
  json["flows"] = Json::array();
  for (const auto& report : comparison.flows()) json["flows"].push_back(flow_report_json(report));
  json["conversations"] = Json::array();
  for (const auto& conversation : result.conversations)
    json["conversations"].push_back(conversation_json(conversation));
  const auto nothing = nothing_compared(result, comparison);
  json["nothing_compared"] = nothing ? nothing->reason : "";
  json["counters"] = counters_json(counters);
  json["parse"] = parse_json(counters);
  return json;
}

}  // namespace longhaul::replay
