// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/flow_query.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "app/protocol/flow_sort.hpp"
#include "base/phase.hpp"
#include "base/plain_cause.hpp"
#include "base/policy.hpp"
#include "expose/survey.hpp"

namespace longhaul::app {
namespace {

using engine::ConnectionState;

/// What each of kFlowSortKeys sorts by.
constexpr std::array<std::uint64_t (*)(const ConnectionState&), kFlowSortKeys.size()> kSortValues = {
    [](const ConnectionState& s) { return s.custody_bytes; },
    [](const ConnectionState& s) { return s.unconfirmed_bytes; },
    [](const ConnectionState& s) { return static_cast<std::uint64_t>(s.idle); },
    [](const ConnectionState& s) { return static_cast<std::uint64_t>(s.round_trip); },
    [](const ConnectionState& s) { return s.taken_bytes; },
};

constexpr std::uint64_t kMostFlows = 1u << 20;

Json ece_json(const wire::Ece& ece) {
  if (!ece.given()) return nullptr;
  return {{"vendor_id", ece.vendor_id}, {"attribute_modifier", ece.attribute_modifier}};
}

/// SENDs and WRITEs with AckReq that passed plain, by cause; the causes that there were.
Json plain_json(const ByPlainCause<std::uint32_t>& plain) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kPlainCauses; ++i)
    if (plain[i] > 0) out[std::string(kPlainCauseInfo[i].name)] = plain[i];
  return out;
}

}  // namespace

FlowQuery FlowQuery::from(Arguments& arguments) {
  FlowQuery out;
  if (const auto host = arguments.text("host")) {
    try {
      out.host = flow::Prefix::parse(*host);
    } catch (const std::invalid_argument& error) {
      throw CommandError(std::string("host: ") + error.what(), Exit::usage);
    }
  }
  out.state = arguments.choice("state", kPhaseNames);
  out.policy = arguments.choice("policy", kPolicyNames);
  out.min_custody = arguments.number("min_custody", 0, UINT64_MAX).value_or(0);
  out.sort = arguments.choice("sort", kFlowSortKeys).value_or(out.sort);
  out.limit = arguments.number("limit", 0, kMostFlows).value_or(0);
  return out;
}

bool FlowQuery::matches(const ConnectionState& flow) const {
  if (host && !host->contains(flow.info.end(Side::host).ip) && !host->contains(flow.info.end(Side::wan).ip))
    return false;
  if (state && *state != name_of(flow.phase)) return false;
  if (policy && *policy != name_of(flow.next_policy)) return false;
  return flow.custody_bytes >= min_custody;
}

std::vector<const Flow*> FlowQuery::select(const std::vector<Flow>& flows) const {
  std::vector<const Flow*> out;
  for (const Flow& flow : flows)
    if (matches(flow.state)) out.push_back(&flow);
  const auto key = std::find(kFlowSortKeys.begin(), kFlowSortKeys.end(), sort) - kFlowSortKeys.begin();
  const auto value = kSortValues[static_cast<std::size_t>(key)];
  std::stable_sort(out.begin(), out.end(),
                   [value](const Flow* a, const Flow* b) { return value(a->state) > value(b->state); });
  return out;
}

Json flow_json(const Flow& flow) {
  const ConnectionState& state = flow.state;
  const flow::End& host = state.info.end(Side::host);
  const flow::End& remote = state.info.end(Side::wan);
  Json out;
  out["id"] = state.serial;
  out["worker"] = flow.worker;
  out["host"] = host.ip.to_string();
  out["host_qpn"] = host.qpn;
  out["remote"] = remote.ip.to_string();
  out["remote_qpn"] = remote.qpn;
  out["vlan_key"] = state.info.vlan.value;
  out["state"] = name_of(state.phase);
  out["policy"] = name_of(state.policy);
  out["next_policy"] = name_of(state.next_policy);
  out["learned"] = expose::source_name(state.from_traffic);
  out["closing"] = state.closing;
  out["trusted"] = state.trusted;
  out["custody_packets"] = state.custody_packets;
  out["custody_bytes"] = state.custody_bytes;
  out["unconfirmed_bytes"] = state.unconfirmed_bytes;
  out["taken_bytes"] = state.taken_bytes;
  out["refused_requests"] = state.refused_requests;
  out["not_accelerated"] = plain_json(state.plain);
  out["lost_bytes"] = state.lost_bytes;
  out["oldest_ns"] = state.oldest;
  out["idle_ns"] = state.idle;
  out["round_trip_ns"] = state.round_trip;
  out["una"] = state.una;
  out["h"] = state.h;
  out["tail"] = state.tail;
  out["path_mtu"] = state.info.path_mtu;
  out["retry_count"] = state.info.retry_count;
  out["ack_timeout_ns"] = state.info.ack_timeout;
  out["ece"] = nullptr;  // unknown
  if (const auto& ece = state.info.ece)
    out["ece"] = {{"offered", ece_json(ece->offered)}, {"accepted", ece_json(ece->accepted)}};
  return out;
}

}  // namespace longhaul::app
