// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/flow_query.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace longhaul::app {
namespace {

using engine::ConnectionState;

struct SortKey {
  std::string_view name;
  std::uint64_t (*value)(const ConnectionState&);
};

constexpr SortKey kSortKeys[] = {
    {"custody", [](const ConnectionState& s) { return s.custody_bytes; }},
    {"unconfirmed", [](const ConnectionState& s) { return s.unconfirmed_bytes; }},
    {"idle", [](const ConnectionState& s) { return static_cast<std::uint64_t>(s.idle); }},
    {"rtt", [](const ConnectionState& s) { return static_cast<std::uint64_t>(s.round_trip); }},
    {"bytes", [](const ConnectionState& s) { return s.taken_bytes; }},
};

constexpr std::uint64_t kMostFlows = 1u << 20;

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
  out.state = arguments.choice("state", {"unconfirmed", "confirmed", "plain", "rejoining", "failed", "ended"});
  out.policy = arguments.choice("policy", {"off", "window", "full"});
  out.min_custody = arguments.number("min_custody", 0, UINT64_MAX).value_or(0);
  out.sort = arguments.choice("sort", {"custody", "unconfirmed", "idle", "rtt", "bytes"}).value_or(out.sort);
  out.limit = arguments.number("limit", 0, kMostFlows).value_or(0);
  return out;
}

bool FlowQuery::matches(const ConnectionState& flow) const {
  if (host && !host->contains(flow.info.end(Side::host).ip) && !host->contains(flow.info.end(Side::wan).ip))
    return false;
  if (state && *state != engine::name_of(flow.phase)) return false;
  if (policy && *policy != flow::name_of(flow.next_policy)) return false;
  return flow.custody_bytes >= min_custody;
}

std::vector<const Flow*> FlowQuery::select(const std::vector<Flow>& flows) const {
  std::vector<const Flow*> out;
  for (const Flow& flow : flows)
    if (matches(flow.state)) out.push_back(&flow);
  const auto key = std::find_if(std::begin(kSortKeys), std::end(kSortKeys),
                                [this](const SortKey& candidate) { return candidate.name == sort; });
  std::stable_sort(out.begin(), out.end(),
                   [key](const Flow* a, const Flow* b) { return key->value(a->state) > key->value(b->state); });
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
  out["state"] = engine::name_of(state.phase);
  out["policy"] = flow::name_of(state.policy);
  out["next_policy"] = flow::name_of(state.next_policy);
  out["learned"] = state.from_traffic ? "traffic" : "rdma-cm";
  out["closing"] = state.closing;
  out["trusted"] = state.trusted;
  out["custody_packets"] = state.custody_packets;
  out["custody_bytes"] = state.custody_bytes;
  out["unconfirmed_bytes"] = state.unconfirmed_bytes;
  out["taken_bytes"] = state.taken_bytes;
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
  return out;
}

}  // namespace longhaul::app
