// SPDX-License-Identifier: BSD-3-Clause
#include "replay/expected_counters.hpp"

#include <fmt/format.h>

#include "replay/nothing_compared.hpp"
#include "replay/report.hpp"

namespace longhaul::replay {
namespace {

using Json = nlohmann::ordered_json;

Json flow_counters(const FlowReport& flow) {
  return {{"confirmed", flow.confirmed}, {"requests", flow.requests}, {"pseudo_acks", flow.pseudo_acks},
          {"real_acks", flow.real_acks}, {"matched", flow.matched},   {"mismatched", flow.mismatched},
          {"unmatched", flow.unmatched}, {"end", name_of(flow.end)},  {"custody_left", flow.custody_left}};
}

/// "" or "matched: expected 30, got 29; end: ...".
std::string differences(const Json& expected, const Json& counted) {
  std::string text;
  const auto differ = [&](const std::string& key, const std::string& wanted, const std::string& got) {
    text += fmt::format("{}{}: expected {}, got {}", text.empty() ? "" : "; ", key, wanted, got);
  };
  for (const auto& [key, value] : expected.items()) {
    if (!counted.contains(key)) {
      differ(key, value.dump(), "nothing: longhaul has no such counter");
    } else if (counted[key] != value) {
      differ(key, value.dump(), counted[key].dump());
    }
  }
  return text;
}

}  // namespace

Json expected_counters(const Result& result, const AckComparison& comparison) {
  const auto nothing = nothing_compared(result, comparison);
  Json json = {{"nothing_compared", nothing ? nothing->reason : ""},
               {"totals",
                {{"frames", result.frames},
                 {"requests", result.counters[Counter::requests]},
                 {"pseudo_acks", result.counters[Counter::pseudo_acks]},
                 {"real_acks", comparison.real_acks},
                 {"matched", comparison.real_acks_matched},
                 {"mismatched", comparison.real_acks_mismatched},
                 {"unmatched", comparison.real_acks_unmatched},
                 {"not_comparable", comparison.real_acks_forwarded}}}};
  Json& flows = json["flows"] = Json::object();
  for (const auto& flow : comparison.flows()) {
    // QPNs are used again: later flows of the same hosts and QPNs are numbered.
    const std::string name = name_flow(flow.flow);
    std::string key = name;
    for (int nth = 2; flows.contains(key); ++nth) key = fmt::format("{} ({})", name, nth);
    flows[key] = flow_counters(flow);
  }
  return json;
}

std::vector<std::pair<std::string, std::string>> compare_counters(const Json& expected, const Json& counted) {
  std::vector<std::pair<std::string, std::string>> compared;
  const auto reason = [](const Json& json) { return json.value("nothing_compared", ""); };
  std::string totals = differences(expected.value("totals", Json::object()), counted.at("totals"));
  if (reason(expected) != reason(counted)) {
    totals += fmt::format("{}reason why nothing was compared: expected \"{}\", got \"{}\"", totals.empty() ? "" : "; ",
                          reason(expected), reason(counted));
  }
  compared.emplace_back("totals", totals);

  const Json wanted = expected.value("flows", Json::object());
  const Json& got = counted.at("flows");
  for (const auto& [name, counters] : wanted.items()) {
    compared.emplace_back(name, got.contains(name) ? differences(counters, got[name]) : "the flow was not learned");
  }
  for (const auto& [name, counters] : got.items()) {
    if (!wanted.contains(name)) compared.emplace_back(name, "a flow that was not expected");
  }
  return compared;
}

}  // namespace longhaul::replay
