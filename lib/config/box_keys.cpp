// SPDX-License-Identifier: BSD-3-Clause
#include "config/box_keys.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/quantity.hpp"
#include "peer/key_file.hpp"

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
    out.push_back(fmt::format("{{match: \"{}\", {}policy: \"{}\"}}", rule.match.to_string(),
                              rule.ece == flow::EceMatch{} ? "" : fmt::format("ece: \"{}\", ", rule.ece.to_string()),
                              name_of(rule.policy)));
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string of_station(const BoxConfig& config, std::string (*show)(const peer::StationSettings&)) {
  return config.peers ? show(config.peers->settings.station) : "none";
}

// The keys' IDs too: a file may have others now.
std::string peers(const BoxConfig& config) {
  std::vector<std::string> out;
  for (std::size_t i = 0; config.peers && i < config.peers->settings.peers.size(); ++i) {
    const peer::PeerSettings& peer = config.peers->settings.peers[i];
    std::vector<std::string> ids;
    for (const peer::PreSharedKey& key : peer.keys) ids.push_back(peer::id_text(key.id()));
    out.push_back(fmt::format("{{name: \"{}\", address: \"{}\", key_file: \"{}\" with {}}}", peer.name,
                              peer.address.to_string(), config.peers->key_files[i], fmt::join(ids, " and ")));
  }
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string promised(const BoxConfig& config) {
  return config.promise.bytes == 0 ? "nothing promised" : fmt::format("{} promised", bytes(config.promise.bytes));
}

constexpr std::string_view kEceWords[] = {"any", "none"};
constexpr SchemaKey kRuleKeys[] = {
    {"match", Form::text(), "Prefix of either end of a connection, such as 10.9.0.0/24 (default, beside ece: all).",
     false},
    {"ece", Form::integer(1, wire::kMostEceVendor, kEceWords),
     "Vendor features (ECE) that RDMA-CM agreed on: any, none, or a vendor ID such as 0x15b3 (default: whatever)."},
    {"policy", Form::choice(kPolicyNames), "off, window or full.", true},
};
constexpr SchemaKey kBoxKeys[] = {
    {"name", Form::text(), "What the peer is called in output, logs and metrics.", true},
    {"address", Form::text(), "Its address: its own peers.address without the prefix length.", true},
    {"key_file", Form::text("^/"), "Absolute path of the file with the keys that both boxes have.", true},
};
constexpr std::string_view kWanRateWords[] = {kUnlimited};

// Keys that are part of another's value above.
constexpr SchemaKey kPartKeys[] = {
    {"cores", Form::numbers(kLastCore, kMostCores), "Processors instead of core, with a worker on each."},
    {"custody.rate", Form::of(Quantity::rate), "The rate for custody.round_trip (default: wan_rate).", false,
     "round_trip"},
};

constexpr BoxKey kKeys[] = {
    {"name", kFixed, [](const BoxConfig& c) { return c.name; }, Form::text(),
     "The name of the box in output and logs (default box)."},
    {"ports.host", kFixed, [](const BoxConfig& c) { return c.host.described(); }, Form::object(kPortKeys, 1),
     "The port towards the hosts: pci (perhaps with devargs) or vdev.", true},
    {"ports.wan", kFixed, [](const BoxConfig& c) { return c.wan.described(); }, Form::object(kPortKeys, 1),
     "The port towards the long haul: pci (perhaps with devargs) or vdev.", true},
    {"hugepages", kFixed, [](const BoxConfig& c) { return std::string(yes_or_no(c.process.hugepages)); },
     Form::boolean(), "false: ordinary memory, for labs (default true)."},
    {"memory", kFixed,
     [](const BoxConfig& c) { return c.process.memory_bytes == 0 ? "as needed" : bytes(c.process.memory_bytes); },
     Form::of(Quantity::size), "Memory for DPDK, 64MiB to 1TiB (default: what is needed)."},
    {"core",
     kFixed,
     cores,
     Form::integer(0, kLastCore),
     "Processor of the only worker (default: not pinned).",
     false,
     {},
     "cores"},
    {"spread", kFixed, [](const BoxConfig& c) { return std::string(kSpreadNames[c.spread_connections ? 1 : 0]); },
     Form::choice(kSpreadNames),
     "connections (default): connections are spread over all workers; pairs: all connections of two hosts stay with "
     "one worker."},
    {"idle", kFixed, [](const BoxConfig& c) { return std::string(kIdleNames[c.process.sleep_when_idle ? 1 : 0]); },
     Form::choice(kIdleNames), "poll (default): workers always poll; sleep: they sleep when there is nothing to do."},
    {"mtu", kFixed,
     [](const BoxConfig& c) { return c.process.mtu ? std::to_string(*c.process.mtu) : std::string("the ports'"); },
     Form::integer(kLeastMtu, kMostMtu),
     "Bytes of the largest IP packet that both ports must carry (default: what the ports have)."},
    {"descriptors.receive", kFixed, [](const BoxConfig& c) { return std::to_string(c.process.descriptors.receive); },
     Form::integer(kLeastDescriptors, kMostDescriptors),
     "Receive descriptors of each worker's queue at each port; the device may change them (default 1024)."},
    {"descriptors.transmit", kFixed, [](const BoxConfig& c) { return std::to_string(c.process.descriptors.transmit); },
     Form::integer(kLeastDescriptors, kMostDescriptors),
     "Transmit descriptors of each worker's queue at each port; the device may change them (default 1024)."},
    {"flow_control", kFixed,
     [](const BoxConfig& c) {
       return std::string(c.process.flow_control ? kFlowControlNames[*c.process.flow_control] : "off if it can be");
     },
     Form::choice(kFlowControlNames),
     "802.3x pause frames at both ports. rx: obey them; tx: send them; full: both; off: neither, and the box does not "
     "start where that cannot be set (default: off where it can be set)."},
    {"log.format", kFixed,
     [](const BoxConfig& c) { return std::string(kLogFormatNames[static_cast<std::size_t>(c.process.log_format)]); },
     Form::choice(kLogFormatNames), kLogFormatHelp, true},
    {"wan_rate", kLive,
     [](const BoxConfig& c) {
       if (c.engine.wan_rate_bps != 0) return fmt::format("{}bps", c.engine.wan_rate_bps);
       return std::string(c.engine.estimate_wan_rate ? "estimated" : kUnlimited);
     },
     Form::of(Quantity::rate, kWanRateWords),
     "Rate at which frames leave the WAN port (default: estimated from the answers; unlimited: custody is not paced)."},
    {"wan_overhead", kLive, [](const BoxConfig& c) { return std::to_string(c.engine.wan_overhead); },
     Form::integer(0, kMostOverhead),
     "Bytes that each frame takes of wan_rate beside its own (default 24: Ethernet's preamble, FCS and gap). Add what "
     "the WAN wraps around a frame: MACsec 32, VXLAN 50, and so on."},
    {"policy.default", kLive, [](const BoxConfig& c) { return std::string(name_of(c.engine.policies.fallback)); },
     Form::choice(kPolicyNames),
     "Policy of connections that no rule matches. full (default): acknowledge all; window: within messages only; off: "
     "learn and count."},
    {"policy.rules", kLive, rules, Form::list(kRuleKeys, 2),
     "The first rule that contains either end of a connection, and whose ece is the connection's, applies (default: "
     "none)."},
    {"confirm", kLive,
     [](const BoxConfig& c) { return std::string(kConfirmNames[static_cast<std::size_t>(c.engine.confirm)]); },
     Form::choice(kConfirmNames),
     "answer (default): acknowledge after one real answer; cm: as soon as RDMA-CM has set the connection up."},
    {"learn_from_traffic", kLive,
     [](const BoxConfig& c) { return std::string(yes_or_no(c.engine.learn_from_traffic)); }, Form::boolean(),
     "Whether connections that RDMA-CM did not announce are followed, too (default true)."},
    {"candidates", kFixed, [](const BoxConfig& c) { return std::to_string(c.engine.max_candidates); },
     Form::integer(1, kMostConnections),
     "Connections that are watched at once in order to learn them from their traffic (default 4096)."},
    {"pair_share", kFixed, [](const BoxConfig& c) { return fmt::format("{:g}%", 100 * c.pair_share); },
     Form::fraction(), "The most that two hosts may have of connections and custody, 1% to 100% (default 50%)."},
    {"custody.round_trip", kFixed, promised, Form::of(Quantity::duration),
     "Custody is sized to hold what custody.rate sends in this time, 1us to 60s (default: nothing is promised)."},
    {"custody.least_frame", kFixed, [](const BoxConfig& c) { return bytes(c.promise.least_frame); },
     Form::of(Quantity::size), "The promise holds for frames of this size or more, 64B to 9216B (default 1KiB)."},
    {"custody.box_limit", kFixed, [](const BoxConfig& c) { return bytes(c.engine.custody_box_bytes); },
     Form::of(Quantity::size), "Custody limit of all flows, in frame bytes (default 256MiB)."},
    {"custody.flow_limit", kFixed, [](const BoxConfig& c) { return bytes(c.engine.custody_flow_bytes); },
     Form::of(Quantity::size), "Custody limit of one flow, in frame bytes (default 64MiB, or what is promised)."},
    {"custody.mbufs", kFixed, [](const BoxConfig& c) { return std::to_string(c.engine.custody_mbufs); },
     Form::integer(kLeastLargeBuffers, kMostBuffers),
     "Large buffers for the custody of all flows (default 16384, or what is promised)."},
    {"custody.small_mbufs", kFixed, [](const BoxConfig& c) { return std::to_string(c.pools.small_frames); },
     Form::integer(kLeastSmallBuffers, kMostBuffers),
     "Small buffers, for small frames (default 65536, or what is promised)."},
    {"custody.initial_window", kFixed, [](const BoxConfig& c) { return bytes(c.engine.initial_window_bytes); },
     Form::of(Quantity::size), "Limit on unanswered bytes until the delivery rate of a flow is known (default 1MiB)."},
    {"connections", kFixed, [](const BoxConfig& c) { return std::to_string(c.engine.max_connections); },
     Form::integer(1, kMostConnections),
     "Connections that are followed at once; further ones pass through (default 4096)."},
    {"restart_record", kFixed, [](const BoxConfig& c) { return c.restart_record.empty() ? "none" : c.restart_record; },
     Form::text("^/.*[^/]$"),
     "Absolute path of the file that records which acknowledged data is undelivered, for the start after a kill "
     "(default: none)."},
    {"timers.rto_initial", kLive, [](const BoxConfig& c) { return duration_text(c.engine.rto_initial); },
     Form::of(Quantity::duration), "Retransmission timeout until a round trip has been measured (default 1s)."},
    {"timers.rto_min", kLive, [](const BoxConfig& c) { return duration_text(c.engine.rto_min); },
     Form::of(Quantity::duration), "Shortest retransmission timeout (default 10ms)."},
    {"timers.rto_max", kLive, [](const BoxConfig& c) { return duration_text(c.engine.rto_max); },
     Form::of(Quantity::duration), "Longest retransmission timeout: doubling stops here (default 2s)."},
    {"timers.give_up", kLive, [](const BoxConfig& c) { return duration_text(c.engine.give_up); },
     Form::of(Quantity::duration), "A flow without an answer for this long fails visibly (default 60s)."},
    {"timers.longest_give_up", kLive, [](const BoxConfig& c) { return duration_text(c.engine.longest_give_up); },
     Form::of(Quantity::duration),
     "The longest time instead of give_up, where RDMA-CM announces that the requester waits for longer (default "
     "10min)."},
    {"timers.confirm_again", kLive, [](const BoxConfig& c) { return duration_text(c.engine.confirm_again); },
     Form::of(Quantity::duration),
     "A connection that was idle for longer is acknowledged only after a real answer has confirmed it again (default "
     "10min)."},
    {"timers.dreq_hold", kLive, [](const BoxConfig& c) { return duration_text(c.engine.dreq_hold); },
     Form::of(Quantity::duration), "Longest time that the DREQ of a closing host is held for custody (default 3s)."},
    {"timers.reorder_wait", kLive, [](const BoxConfig& c) { return duration_text(c.engine.reorder_wait); },
     Form::of(Quantity::duration),
     "A packet that others have overtaken may be this late before it counts as lost, 0 to 1ms (default 200us)."},
    {"timers.ack_unasked", kLive, [](const BoxConfig& c) { return duration_text(c.engine.ack_unasked); },
     Form::of(Quantity::duration),
     "A message whose requester has not asked for an ACK is acknowledged after this time, up to 100ms (default 100us; "
     "0: never)."},
    {"timers.drain", kLive, [](const BoxConfig& c) { return duration_text(c.drain); }, Form::of(Quantity::duration),
     "Longest time that SIGTERM waits for custody to empty (default 10s)."},
    {"cnp.send", kLive, [](const BoxConfig& c) { return std::string(yes_or_no(c.engine.cnp.send)); }, Form::boolean(),
     "Whether the box tells hosts of its side by CNPs (for DCQCN) that they send faster than the WAN takes it (default "
     "true)."},
    {"cnp.interval", kLive, [](const BoxConfig& c) { return duration_text(c.engine.cnp.interval); },
     Form::of(Quantity::duration), "At most one CNP for each flow in this time, 1us to 1s (default 50us)."},
    {"cnp.dscp", kLive, [](const BoxConfig& c) { return std::to_string(c.engine.cnp.dscp); }, Form::integer(0, 63),
     "DSCP of these CNPs (default 48, as NICs have it)."},
    {"cnp.from_wan", kLive,
     [](const BoxConfig& c) { return std::string(kWanCnpNames[static_cast<std::size_t>(c.engine.cnp.from_wan)]); },
     Form::choice(kWanCnpNames),
     "CNPs from the WAN for a flow with acknowledged data in custody: pass (default): the box obeys them and passes "
     "them "
     "on; absorb: the box alone obeys them."},
    {"metrics.listen", kFixed, [](const BoxConfig& c) { return c.metrics.listen.empty() ? "none" : c.metrics.listen; },
     Form::text(":[0-9]{1,5}$"),
     "Address and port of the status page and of what Prometheus reads, such as 127.0.0.1:9464 (default: not served).",
     true},
    {"metrics.host_pairs", kFixed, [](const BoxConfig& c) { return std::to_string(c.metrics.host_pairs); },
     Form::integer(0, kMostPairs), "Pairs of hosts with series of their own; the others are added up (default 100)."},
    {"peers.address", kFixed,
     [](const BoxConfig& c) { return of_station(c, [](const auto& its) { return its.network.to_string(); }); },
     Form::text("/[0-9]{1,3}$"),
     "The box's own address on its WAN port, with its network's prefix length (default: no peers, no address).", true},
    {"peers.gateway", kFixed,
     [](const BoxConfig& c) {
       return of_station(c, [](const auto& its) { return its.gateway ? its.gateway->to_string() : "none"; });
     },
     Form::text(), "The router towards peers in other networks (default: none)."},
    {"peers.vlan", kFixed,
     [](const BoxConfig& c) {
       return of_station(c, [](const auto& its) { return its.vlan ? std::to_string(*its.vlan) : "none"; });
     },
     Form::integer(1, 4094), "VLAN of the box's own frames (default: no tag)."},
    {"peers.port", kFixed,
     [](const BoxConfig& c) { return of_station(c, [](const auto& its) { return std::to_string(its.port); }); },
     Form::integer(1, 65535), "UDP port of the boxes, the same on both (default 47910)."},
    {"peers.dscp", kFixed,
     [](const BoxConfig& c) { return of_station(c, [](const auto& its) { return std::to_string(its.dscp); }); },
     Form::integer(0, 63), "DSCP of the box's own packets (default 48)."},
    {"peers.repair", kFixed,
     [](const BoxConfig& c) {
       return c.peers ? std::string(yes_or_no(c.peers->settings.repair)) : std::string("none");
     },
     Form::boolean(), "Repair losses together with peers, where both boxes can (default true)."},
    {"peers.boxes", kLive, peers, Form::list(kBoxKeys, 3),
     "The boxes at the other ends of the long hauls, 1 to 64. A reload also reads the files of keys again.", true},
    {"link_loss", kFixed,
     [](const BoxConfig& c) { return std::string(kLinkLossNames[static_cast<std::size_t>(c.link_loss)]); },
     Form::choice(kLinkLossNames),
     "forward: when one port loses its link, the link of the other goes down, too (default ignore)."},
    {"watchdog.stall", kFixed, [](const BoxConfig& c) { return duration_text(c.stall); }, Form::of(Quantity::duration),
     "A worker that has not completed a round for this long has stalled, 100ms to 60s (default 1s)."},
    {"watchdog.action", kFixed,
     [](const BoxConfig& c) { return std::string(kOnStallNames[static_cast<std::size_t>(c.on_stall)]); },
     Form::choice(kOnStallNames), "report (default): log it; exit: end the process at once with exit status 3."},
    {"control.socket", kFixed, [](const BoxConfig& c) { return c.control.socket.empty() ? "none" : c.control.socket; },
     Form::text("^/.*[^/]$"), "Absolute path of the socket for longhaul ctl (default: none)."},
    {"control.mode", kFixed, [](const BoxConfig& c) { return fmt::format("\"{:04o}\"", c.control.mode); }, Form::text(),
     "Permissions of the socket; everyone who may write to it may use all commands (default 0660).", false, "socket"},
    {"control.group", kFixed,
     [](const BoxConfig& c) { return c.control.group.empty() ? "the process's" : c.control.group; }, Form::text(),
     "Group of the socket (default: that of the process).", false, "socket"},
    {"control.telemetry", kFixed, [](const BoxConfig& c) { return std::string(yes_or_no(c.control.telemetry)); },
     Form::boolean(), "Also serve the data to dpdk-telemetry.py -f longhaul_NAME (default false)."},
};

}  // namespace

std::span<const BoxKey> box_keys() { return kKeys; }

std::span<const SchemaKey> box_schema_keys() {
  static const std::vector<SchemaKey> keys = [] {
    std::vector<SchemaKey> out;
    for (const BoxKey& key : kKeys)
      out.push_back({key.name, key.form, key.help, key.required, key.needs, key.excludes, key.live});
    out.insert(out.end(), std::begin(kPartKeys), std::end(kPartKeys));
    return out;
  }();
  return keys;
}

std::vector<KeyChange> changes(const BoxConfig& before, const BoxConfig& after) {
  std::vector<KeyChange> out;
  for (const BoxKey& key : kKeys) {
    std::string was = key.show(before);
    std::string is = key.show(after);
    if (was != is) out.push_back({key.name, key.live, std::move(was), std::move(is)});
  }
  return out;
}

flow::Policy policy_of(std::string_view name) {
  for (std::size_t i = 0; i < kPolicies; ++i)
    if (kPolicyNames[i] == name) return static_cast<Policy>(i);
  throw std::invalid_argument(
      fmt::format("\"{}\" is not a policy: expected one of {}", name, fmt::join(kPolicyNames, ", ")));
}

}  // namespace longhaul::config
