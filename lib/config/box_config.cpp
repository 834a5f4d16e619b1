// SPDX-License-Identifier: BSD-3-Clause
#include "config/box_config.hpp"

#include <fmt/format.h>

namespace longhaul::config {
namespace {

// Frames that are not in custody: both ports' rings (1024 each way), bursts, packets that wait.
constexpr std::uint32_t kFramesBesidesCustody = 8192;

constexpr Duration kLongest = seconds(24 * 3600);

flow::Policy read_policy_name(const Value& value) {
  return value.choice<flow::Policy>(
      {{"off", flow::Policy::off}, {"window", flow::Policy::window}, {"full", flow::Policy::full}});
}

flow::PolicyTable read_policy(const Value& value) {
  const Map map = value.map({"default", "rules"});
  flow::PolicyTable out;
  if (const auto v = map.find("default")) out.fallback = read_policy_name(*v);
  if (const auto rules = map.find("rules")) {
    for (const Value& rule : rules->list()) {
      const Map fields = rule.map({"match", "policy"});
      const Value match = fields.at("match");
      flow::PolicyTable::Rule parsed{};
      try {
        parsed.match = flow::Prefix::parse(match.text());
      } catch (const std::invalid_argument& error) {
        match.fail(error.what());
      }
      parsed.policy = read_policy_name(fields.at("policy"));
      out.rules.push_back(parsed);
    }
  }
  return out;
}

void read_custody(const Value& value, BoxConfig& out) {
  const Map map = value.map({"box_limit", "flow_limit", "mbufs", "small_mbufs", "initial_window"});
  engine::Settings& engine = out.engine;
  if (const auto v = map.find("box_limit")) engine.custody_box_bytes = v->size(64 << 10, 1ull << 40);
  const auto flow_limit = map.find("flow_limit");
  if (flow_limit) engine.custody_flow_bytes = flow_limit->size(16 << 10, 1ull << 40);
  if (engine.custody_flow_bytes > engine.custody_box_bytes) {
    if (flow_limit)
      flow_limit->fail(fmt::format("{} bytes for one flow exceed box_limit, {} bytes for all",
                                   engine.custody_flow_bytes, engine.custody_box_bytes));
    engine.custody_flow_bytes = engine.custody_box_bytes;
  }
  const auto window = map.find("initial_window");
  if (window) engine.initial_window_bytes = window->size(4 << 10, 1ull << 40);
  if (engine.initial_window_bytes > engine.custody_flow_bytes) {
    if (window)
      window->fail(
          fmt::format("{} bytes exceed flow_limit, {} bytes", engine.initial_window_bytes, engine.custody_flow_bytes));
    engine.initial_window_bytes = engine.custody_flow_bytes;
  }
  if (const auto v = map.find("mbufs")) engine.custody_mbufs = static_cast<std::uint32_t>(v->integer(64, 1u << 24));
  if (const auto v = map.find("small_mbufs"))
    out.pools.small_frames = static_cast<std::uint32_t>(v->integer(1024, 1u << 24));
}

void read_timers(const Value& value, BoxConfig& out) {
  const Map map = value.map({"rto_initial", "rto_min", "rto_max", "give_up", "dreq_hold", "drain"});
  engine::Settings& engine = out.engine;
  const auto read = [&map](std::string_view key, Duration& to, Duration least) {
    const auto v = map.find(key);
    if (v) to = v->duration(least, kLongest);
    return v;
  };
  const auto initial = read("rto_initial", engine.rto_initial, microseconds(10));
  const auto least = read("rto_min", engine.rto_min, microseconds(10));
  const auto most = read("rto_max", engine.rto_max, microseconds(10));
  if (engine.rto_min > engine.rto_max) (least ? *least : *most).fail("rto_min exceeds rto_max");
  if (engine.rto_initial > engine.rto_max) (initial ? *initial : *most).fail("rto_initial exceeds rto_max");
  const auto give_up = read("give_up", engine.give_up, milliseconds(1));
  if (engine.give_up < engine.rto_max)
    (give_up ? *give_up : *most).fail("give_up is shorter than rto_max: nothing would be sent twice");
  read("dreq_hold", engine.dreq_hold, 0);
  read("drain", out.drain, 0);
}

}  // namespace

BoxConfig read_box(const Value& top) {
  const Map map = top.map({"name", "ports", "hugepages", "memory", "core", "idle", "mtu", "wan_rate", "policy",
                           "confirm", "learn_from_traffic", "custody", "connections", "timers", "restart_record"});
  BoxConfig out;
  if (const auto v = map.find("name")) out.name = v->text();
  std::tie(out.host, out.wan) = read_ports(map.at("ports"), "host", "wan");
  out.process = read_process(map);
  if (const auto v = map.find("wan_rate")) out.engine.wan_rate_bps = v->rate();
  if (const auto v = map.find("policy")) out.engine.policies = read_policy(*v);
  if (const auto v = map.find("confirm")) {
    out.engine.confirm = v->choice<engine::Confirm>({{"answer", engine::Confirm::answer}, {"cm", engine::Confirm::cm}});
  }
  if (const auto v = map.find("learn_from_traffic")) out.engine.learn_from_traffic = v->boolean();
  if (const auto v = map.find("custody")) read_custody(*v, out);
  if (const auto v = map.find("connections"))
    out.engine.max_connections = static_cast<std::uint32_t>(v->integer(1, 1u << 20));
  if (const auto v = map.find("timers")) read_timers(*v, out);
  if (const auto v = map.find("restart_record")) {
    out.restart_record = v->text();
    out.restart_record_position = v->position();
    if (out.restart_record.front() != '/' || out.restart_record.back() == '/')
      v->fail_expected("an absolute path of a file such as /run/longhaul/box.record");
  }
  out.pools.frames = out.engine.custody_mbufs + kFramesBesidesCustody;
  return out;
}

}  // namespace longhaul::config
