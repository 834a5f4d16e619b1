// SPDX-License-Identifier: BSD-3-Clause
#include "config/link_config.hpp"

namespace longhaul::config {
namespace {

constexpr Duration kLongestDelay = seconds(60);

/// Reads one direction's keys over the values already in `to`.
void read_direction(const Value& value, link::DirectionSettings& to) {
  const Map map =
      value.map({"distance", "delay", "jitter", "rate", "queue", "loss", "duplicate", "reorder", "corrupt"});
  const auto distance = map.find("distance");
  const auto delay = map.find("delay");
  if (distance && delay) delay->fail("give either distance or delay, not both");
  if (distance) to.delay = distance->distance(kLongestDelay);
  if (delay) to.delay = delay->duration(0, kLongestDelay);
  if (const auto v = map.find("jitter")) to.jitter = v->duration(0, kLongestDelay);
  if (const auto v = map.find("rate")) to.rate_bps = v->rate();
  if (const auto v = map.find("queue")) to.queue_bytes = v->size(0, 1ull << 40);
  if (const auto v = map.find("loss")) to.loss = v->fraction();
  if (const auto v = map.find("duplicate")) to.duplicate = v->fraction();
  if (const auto v = map.find("corrupt")) to.corrupt = v->fraction();
  if (const auto v = map.find("reorder")) {
    const Map reorder = v->map({"fraction", "extra"});
    to.reorder = reorder.at("fraction").fraction();
    to.reorder_extra = reorder.at("extra").duration(0, kLongestDelay);
  }
}

link::Event read_event(const Value& value) {
  const Map map = value.map({"direction", "qpn", "psn", "nth", "count", "action", "delay"});
  link::Event out;
  out.way = map.at("direction").choice<link::Way>({{"a_to_b", link::Way::a_to_b}, {"b_to_a", link::Way::b_to_a}});
  out.action = map.at("action").choice<link::Action>({{"drop", link::Action::drop},
                                                      {"duplicate", link::Action::duplicate},
                                                      {"delay", link::Action::delay},
                                                      {"corrupt", link::Action::corrupt},
                                                      {"ecn", link::Action::ecn}});
  if (const auto v = map.find("qpn")) out.qpn = static_cast<std::uint32_t>(v->integer(0, 0xffffff));
  const auto psn = map.find("psn");
  const auto nth = map.find("nth");
  if (psn.has_value() == nth.has_value()) value.fail("expected either psn or nth");
  if (psn) out.psn = static_cast<std::uint32_t>(psn->integer(0, 0xffffff));
  if (nth) out.nth = nth->integer(1, UINT64_MAX);
  if (const auto v = map.find("count")) out.count = v->integer(1, UINT64_MAX);
  const auto delay = map.find("delay");
  if (delay && out.action != link::Action::delay) delay->fail("delay is allowed only with `action: delay`");
  if (out.action == link::Action::delay) out.delay = map.at("delay").duration(0, kLongestDelay);
  return out;
}

}  // namespace

LinkConfig read_link(const Value& top) {
  const Map map = top.map({"name", "ports", "hugepages", "memory", "core", "idle", "mtu", "frames", "seed", "both",
                           "a_to_b", "b_to_a", "events"});
  LinkConfig out;
  if (const auto v = map.find("name")) out.name = v->text();
  std::tie(out.a, out.b) = read_ports(map.at("ports"), "a", "b");
  out.process = read_process(map);
  if (const auto v = map.find("frames")) out.frames = static_cast<std::uint32_t>(v->integer(8192, 1u << 24));
  if (const auto v = map.find("seed")) out.link.seed = v->integer(0, UINT64_MAX);
  if (const auto v = map.find("both")) {
    for (link::DirectionSettings& direction : out.link.directions) read_direction(*v, direction);
  }
  if (const auto v = map.find("a_to_b")) read_direction(*v, out.link.directions[0]);
  if (const auto v = map.find("b_to_a")) read_direction(*v, out.link.directions[1]);
  if (const auto v = map.find("events")) {
    for (const Value& event : v->list()) out.link.events.push_back(read_event(event));
  }
  return out;
}

}  // namespace longhaul::config
