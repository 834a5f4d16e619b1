// SPDX-License-Identifier: BSD-3-Clause
#include "config/box_keys.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/quantity.hpp"

namespace longhaul::config {
namespace {

constexpr bool kLive = true;
constexpr bool kFixed = false;

std::string bytes(std::uint64_t value) { return fmt::format("{}B", value); }

const char* yes_or_no(bool value) { return value ? "true" : "false"; }

std::string cores(const BoxConfig& config) {
  if (!config.process.core) return "not pinned";
  if (config.process.more_cores.empty()) return std::to_string(*config.process.core);
  return fmt::format("[{}, {}]", *config.process.core, fmt::join(config.process.more_cores, ", "));
}

std::string rules(const BoxConfig& config) {
  std::vector<std::string> out;
  for (const auto& rule : config.engine.policies.rules)
    out.push_back(fmt::format("{{match: \"{}\", policy: \"{}\"}}", to_text(rule.match), name_of(rule.policy)));
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string promised(const BoxConfig& config) {
  return config.promise.bytes == 0 ? "nothing promised" : fmt::format("{} promised", bytes(config.promise.bytes));
}

constexpr BoxKey kKeys[] = {
    {"name", kFixed, [](const BoxConfig& c) { return c.name; }},
    {"ports.host", kFixed, [](const BoxConfig& c) { return c.host.device(); }},
    {"ports.wan", kFixed, [](const BoxConfig& c) { return c.wan.device(); }},
    {"hugepages", kFixed, [](const BoxConfig& c) { return std::string(yes_or_no(c.process.hugepages)); }},
    {"memory", kFixed,
     [](const BoxConfig& c) { return c.process.memory_bytes == 0 ? "as needed" : bytes(c.process.memory_bytes); }},
    {"core", kFixed, cores},
    {"spread", kFixed, [](const BoxConfig& c) { return std::string(c.spread_connections ? "connections" : "pairs"); }},
    {"idle", kFixed, [](const BoxConfig& c) { return std::string(c.process.sleep_when_idle ? "sleep" : "poll"); }},
    {"mtu", kFixed,
     [](const BoxConfig& c) { return c.process.mtu ? std::to_string(*c.process.mtu) : std::string("the ports'"); }},
    {"wan_rate", kLive,
     [](const BoxConfig& c) {
       if (c.engine.wan_rate_bps != 0) return fmt::format("{}bps", c.engine.wan_rate_bps);
       return std::string(c.engine.estimate_wan_rate ? "estimated" : "unlimited");
     }},
    {"policy.default", kLive, [](const BoxConfig& c) { return std::string(name_of(c.engine.policies.fallback)); }},
    {"policy.rules", kLive, rules},
    {"confirm", kLive,
     [](const BoxConfig& c) { return std::string(c.engine.confirm == engine::Confirm::cm ? "cm" : "answer"); }},
    {"learn_from_traffic", kLive,
     [](const BoxConfig& c) { return std::string(yes_or_no(c.engine.learn_from_traffic)); }},
    {"pair_share", kFixed, [](const BoxConfig& c) { return fmt::format("{:g}%", 100 * c.pair_share); }},
    {"custody.round_trip", kFixed, promised},
    {"custody.least_frame", kFixed, [](const BoxConfig& c) { return bytes(c.promise.least_frame); }},
    {"custody.box_limit", kFixed, [](const BoxConfig& c) { return bytes(c.engine.custody_box_bytes); }},
    {"custody.flow_limit", kFixed, [](const BoxConfig& c) { return bytes(c.engine.custody_flow_bytes); }},
    {"custody.mbufs", kFixed, [](const BoxConfig& c) { return std::to_string(c.engine.custody_mbufs); }},
    {"custody.small_mbufs", kFixed, [](const BoxConfig& c) { return std::to_string(c.pools.small_frames); }},
    {"custody.initial_window", kFixed, [](const BoxConfig& c) { return bytes(c.engine.initial_window_bytes); }},
    {"connections", kFixed, [](const BoxConfig& c) { return std::to_string(c.engine.max_connections); }},
    {"restart_record", kFixed, [](const BoxConfig& c) { return c.restart_record.empty() ? "none" : c.restart_record; }},
    {"timers.rto_initial", kLive, [](const BoxConfig& c) { return duration_text(c.engine.rto_initial); }},
    {"timers.rto_min", kLive, [](const BoxConfig& c) { return duration_text(c.engine.rto_min); }},
    {"timers.rto_max", kLive, [](const BoxConfig& c) { return duration_text(c.engine.rto_max); }},
    {"timers.give_up", kLive, [](const BoxConfig& c) { return duration_text(c.engine.give_up); }},
    {"timers.longest_give_up", kLive, [](const BoxConfig& c) { return duration_text(c.engine.longest_give_up); }},
    {"timers.confirm_again", kLive, [](const BoxConfig& c) { return duration_text(c.engine.confirm_again); }},
    {"timers.dreq_hold", kLive, [](const BoxConfig& c) { return duration_text(c.engine.dreq_hold); }},
    {"timers.drain", kLive, [](const BoxConfig& c) { return duration_text(c.drain); }},
    {"metrics.listen", kFixed, [](const BoxConfig& c) { return c.metrics.listen.empty() ? "none" : c.metrics.listen; }},
    {"metrics.host_pairs", kFixed, [](const BoxConfig& c) { return std::to_string(c.metrics.host_pairs); }},
    {"link_loss", kFixed,
     [](const BoxConfig& c) { return std::string(c.link_loss == LinkLoss::forward ? "forward" : "ignore"); }},
    {"watchdog.stall", kFixed, [](const BoxConfig& c) { return duration_text(c.stall); }},
    {"watchdog.action", kFixed,
     [](const BoxConfig& c) { return std::string(c.on_stall == OnStall::exit ? "exit" : "report"); }},
    {"control.socket", kFixed, [](const BoxConfig& c) { return c.control.socket.empty() ? "none" : c.control.socket; }},
    {"control.mode", kFixed, [](const BoxConfig& c) { return fmt::format("\"{:04o}\"", c.control.mode); }},
    {"control.group", kFixed,
     [](const BoxConfig& c) { return c.control.group.empty() ? "the process's" : c.control.group; }},
    {"control.telemetry", kFixed, [](const BoxConfig& c) { return std::string(yes_or_no(c.control.telemetry)); }},
};

}  // namespace

std::span<const BoxKey> box_keys() { return kKeys; }

std::vector<KeyChange> changes(const BoxConfig& before, const BoxConfig& after) {
  std::vector<KeyChange> out;
  for (const BoxKey& key : kKeys) {
    std::string was = key.show(before);
    std::string is = key.show(after);
    if (was != is) out.push_back({key.name, key.live, std::move(was), std::move(is)});
  }
  return out;
}

std::string to_text(const flow::Prefix& prefix) {
  const unsigned length = prefix.length - (prefix.address.is_ipv4() ? 96u : 0u);
  return fmt::format("{}/{}", prefix.address.to_string(), length);
}

flow::Policy policy_of(std::string_view name) {
  for (std::size_t i = 0; i < kPolicies; ++i)
    if (kPolicyNames[i] == name) return static_cast<Policy>(i);
  throw std::invalid_argument(
      fmt::format("\"{}\" is not a policy: expected one of {}", name, fmt::join(kPolicyNames, ", ")));
}

}  // namespace longhaul::config
