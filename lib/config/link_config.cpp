// SPDX-License-Identifier: BSD-3-Clause
#include "config/link_config.hpp"

#include "config/schema.hpp"

namespace longhaul::config {
namespace {

constexpr Duration kLongestDelay = seconds(60);
constexpr std::uint64_t kLast24Bits = 0xffffff;
constexpr std::uint64_t kLeastFrames = 8192;
constexpr std::uint64_t kMostFrames = 1u << 24;

// In the order of link::Way and link::Action.
constexpr std::string_view kWayNames[] = {"a_to_b", "b_to_a"};
constexpr std::string_view kActionNames[] = {"drop", "duplicate", "delay", "corrupt", "ecn"};

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
  out.way = map.at("direction").choice<link::Way>(kWayNames);
  out.action = map.at("action").choice<link::Action>(kActionNames);
  if (const auto v = map.find("qpn")) out.qpn = static_cast<std::uint32_t>(v->integer(0, kLast24Bits));
  const auto psn = map.find("psn");
  const auto nth = map.find("nth");
  if (psn.has_value() == nth.has_value()) value.fail("expected either psn or nth");
  if (psn) out.psn = static_cast<std::uint32_t>(psn->integer(0, kLast24Bits));
  if (nth) out.nth = nth->integer(1, UINT64_MAX);
  if (const auto v = map.find("count")) out.count = v->integer(1, UINT64_MAX);
  const auto delay = map.find("delay");
  if (delay && out.action != link::Action::delay) delay->fail("delay is allowed only with `action: delay`");
  if (out.action == link::Action::delay) out.delay = map.at("delay").duration(0, kLongestDelay);
  return out;
}

}  // namespace

std::span<const SchemaKey> link_schema_keys() {
  static constexpr SchemaKey kReorder[] = {
      {"fraction", Form::fraction(), "The fraction of frames.", true},
      {"extra", Form::of(Quantity::duration), "By how much they come later.", true},
  };
  static constexpr SchemaKey kDirection[] = {
      {"distance", Form::of(Quantity::distance), "Length of fibre, at 5 us a kilometre.", false, {}, "delay"},
      {"delay", Form::of(Quantity::duration), "One way (default 0)."},
      {"jitter", Form::of(Quantity::duration), "Added at random from 0 to this; keeps the order (default 0)."},
      {"rate", Form::of(Quantity::rate), "Default: unlimited."},
      {"queue", Form::of(Quantity::size), "Default: unlimited."},
      {"loss", Form::fraction(), "Fraction of frames that are lost (default 0)."},
      {"duplicate", Form::fraction(), "Fraction of frames that come twice (default 0)."},
      {"corrupt", Form::fraction(), "Fraction of frames that are damaged (default 0)."},
      {"reorder", Form::object(kReorder), "Frames that come later than others (default: none)."},
  };
  static constexpr SchemaKey kEvent[] = {
      {"direction", Form::choice(kWayNames), "a_to_b or b_to_a.", true},
      {"action", Form::choice(kActionNames), "What happens to the frame.", true},
      {"qpn", Form::integer(0, kLast24Bits), "Only frames to this destination QPN."},
      {"psn", Form::integer(0, kLast24Bits), "Only frames with this PSN; give either this or nth.", false, {}, "nth"},
      {"nth", Form::integer(1, UINT64_MAX), "The nth frame, from 1."},
      {"count", Form::integer(1, UINT64_MAX), "Number of frames (default 1)."},
      {"delay", Form::of(Quantity::duration), "With the action delay: for how long."},
  };
  static constexpr SchemaKey kKeys[] = {
      {"name", Form::text(), "The name of the link in output and logs (default link)."},
      {"ports.a", Form::object(kPortKeys, 1), "One end: pci (perhaps with devargs) or vdev.", true},
      {"ports.b", Form::object(kPortKeys, 1), "The other end: pci (perhaps with devargs) or vdev.", true},
      {"hugepages", Form::boolean(), "false: ordinary memory, for labs (default true)."},
      {"memory", Form::of(Quantity::size), "Memory for DPDK, 64MiB to 1TiB (default: what is needed)."},
      {"core", Form::integer(0, kLastCore), "Processor (default: not pinned)."},
      {"idle", Form::choice(kIdleNames), "poll (default) or sleep when there is nothing to do."},
      {"mtu", Form::integer(kLeastMtu, kMostMtu), "Bytes of the largest IP packet (default: what the ports have)."},
      {"log.format", Form::choice(kLogFormatNames), kLogFormatHelp, true},
      {"frames", Form::integer(kLeastFrames, kMostFrames), "Buffers, for both directions (default 32768)."},
      {"seed", Form::integer(0, UINT64_MAX), "The same seed does the same to the nth frame of a direction."},
      {"both", Form::object(kDirection), "For both directions."},
      {"a_to_b", Form::object(kDirection), "For this direction, over both."},
      {"b_to_a", Form::object(kDirection), "For this direction, over both."},
      {"events", Form::list(kEvent), "Impairments of single frames (default: none)."},
  };
  return kKeys;
}

LinkConfig read_link(const Value& top) {
  const Map map = top.map({"name", "ports", "hugepages", "memory", "core", "idle", "mtu", "log", "frames", "seed",
                           "both", "a_to_b", "b_to_a", "events"});
  LinkConfig out;
  if (const auto v = map.find("name")) out.name = v->text();
  std::tie(out.a, out.b) = read_ports(map.at("ports"), "a", "b");
  out.process = read_process(map);
  if (const auto v = map.find("frames")) out.frames = static_cast<std::uint32_t>(v->integer(kLeastFrames, kMostFrames));
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
