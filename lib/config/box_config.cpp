// SPDX-License-Identifier: BSD-3-Clause
#include "config/box_config.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace longhaul::config {
namespace {

constexpr std::uint64_t kMostCustody = 1ull << 40;

constexpr Duration kLongest = seconds(24 * 3600);

/// What `parse` makes of the text of `value`.
template <typename Parsed>
Parsed parsed_by(Parsed (*parse)(std::string_view), const Value& value) {
  try {
    return parse(value.text());
  } catch (const std::invalid_argument& error) {
    value.fail(error.what());
  }
}

flow::PolicyTable read_policy(const Value& value) {
  const Map map = value.map({"default", "rules"});
  flow::PolicyTable out;
  if (const auto v = map.find("default")) out.fallback = v->choice<Policy>(kPolicyNames);
  if (const auto rules = map.find("rules")) {
    for (const Value& rule : rules->list()) {
      const Map fields = rule.map({"match", "ece", "policy"});
      const auto ece = fields.find("ece");
      flow::PolicyTable::Rule parsed{};
      if (ece) parsed.ece = parsed_by(flow::EceMatch::parse, *ece);
      // A rule about ECE alone is about all addresses.
      if (const auto match = ece ? fields.find("match") : fields.at("match"))
        parsed.match = parsed_by(flow::Prefix::parse, *match);
      parsed.policy = fields.at("policy").choice<Policy>(kPolicyNames);
      out.rules.push_back(parsed);
    }
  }
  return out;
}

/// "375000000 bytes (100 Gbit/s for 30 ms)".
struct Promised {
  std::string words;
  Value value;   ///< the key that makes the promise
  Value frames;  ///< the key that gives the frame size
};

// What custody promises to hold: rate times round trip, or box_limit when only custody.least_frame is set.
std::optional<Promised> read_promise(const Map& map, const std::optional<Value>& box_limit, BoxConfig& out) {
  const auto round_trip = map.find("round_trip");
  const auto rate = map.find("rate");
  const auto least_frame = map.find("least_frame");
  if (rate && !round_trip) rate->fail("has no effect without custody.round_trip: the promise is rate times round trip");
  if (least_frame) out.promise.least_frame = static_cast<std::uint32_t>(least_frame->size(64, 9216));
  if (round_trip) {
    const Duration time = round_trip->duration(microseconds(1), seconds(60));
    const std::uint64_t bits = rate ? rate->rate() : out.engine.wan_rate_bps;
    if (bits == 0) (rate ? *rate : *round_trip).fail("needs a rate: custody.rate, or wan_rate, such as 100Gbps");
    out.promise.bytes = box::CustodyPromise::bytes_under_way(bits, time);
    std::string words = fmt::format("{} bytes ({:g} Gbit/s for {:g} ms)", out.promise.bytes,
                                    static_cast<double>(bits) / 1e9, static_cast<double>(time) / 1e6);
    const unsigned workers = out.process.workers();
    const std::uint64_t shares = out.promise.share(workers) * workers;
    if (out.promise.bytes < kLeastCustody * workers || shares > kMostCustody)
      round_trip->fail(
          fmt::format("this promises {}; expected {} to {} bytes", words, kLeastCustody * workers, kMostCustody));
    if (box_limit && out.engine.custody_box_bytes < shares)
      box_limit->fail(fmt::format("{} bytes are less than custody.round_trip promises, {}: set {}B or more",
                                  out.engine.custody_box_bytes, words, shares));
    if (!box_limit) out.engine.custody_box_bytes = shares;
    return Promised{std::move(words), *round_trip, least_frame.value_or(*round_trip)};
  }
  if (!least_frame) return std::nullopt;
  out.promise.bytes = out.engine.custody_box_bytes / out.process.workers() * out.process.workers();
  return Promised{fmt::format("{} bytes (box_limit)", out.promise.bytes), *least_frame, *least_frame};
}

// The buffers that a promise needs: the default where the configuration gives no number, otherwise a lower bound for
// it.
void size_buffers(const Promised& promised, const std::optional<Value>& mbufs, const std::optional<Value>& small_mbufs,
                  BoxConfig& out) {
  const auto classes = engine::Pools::classes(out.pools);
  const auto needs = box::buffers_needed(out.promise, classes, out.process.workers());
  const auto check = [&](std::uint64_t there, std::uint64_t wanted, const std::optional<Value>& key, const char* name) {
    if (wanted > kMostBuffers)
      promised.value.fail(
          fmt::format("{} in frames of {} bytes or more need {} {}, more than the {} allowed: promise less or set a "
                      "larger custody.least_frame",
                      promised.words, out.promise.least_frame, wanted, name, kMostBuffers));
    if (key && there < wanted)
      key->fail(
          fmt::format("{} buffers cannot hold the promised {} in frames of {} bytes or more: set {} or more (or leave "
                      "{} out, or set a larger custody.least_frame)",
                      there, promised.words, out.promise.least_frame, wanted, name));
  };
  for (std::size_t i = 0; i + 1 < needs.size(); ++i) {
    if (needs[i].least_frame == 0) continue;
    check(out.pools.small_frames, needs[i].buffers, small_mbufs, "small_mbufs");
    out.pools.small_frames = std::max(out.pools.small_frames, static_cast<std::uint32_t>(needs[i].buffers));
  }
  const std::uint64_t large = needs.back().buffers - out.pools.frames_reserve;
  check(out.engine.custody_mbufs, large, mbufs, "mbufs");
  if (!mbufs) out.engine.custody_mbufs = std::max(64 * out.process.workers(), static_cast<std::uint32_t>(large));
}

void read_custody(const Value& value, BoxConfig& out) {
  const Map map = value.map(
      {"round_trip", "rate", "least_frame", "box_limit", "flow_limit", "mbufs", "small_mbufs", "initial_window"});
  engine::Settings& engine = out.engine;
  const auto box_limit = map.find("box_limit");
  // Each worker has a share of the limit.
  if (box_limit) engine.custody_box_bytes = box_limit->size(kLeastCustody * out.process.workers(), kMostCustody);
  const auto promised = read_promise(map, box_limit, out);
  const auto flow_limit = map.find("flow_limit");
  // One flow may fill the path that the box is planned for.
  if (promised) engine.custody_flow_bytes = out.promise.bytes;
  if (flow_limit) engine.custody_flow_bytes = flow_limit->size(16 << 10, kMostCustody);
  // A flow has one worker, so it is limited to this worker's share.
  const unsigned workers = out.process.workers();
  const std::uint64_t share = engine.custody_box_bytes / workers;
  if (engine.custody_flow_bytes > share) {
    if (flow_limit && workers > 1)
      flow_limit->fail(
          fmt::format("{} bytes for one flow exceed a worker's share of box_limit, {} bytes for each of {} workers",
                      engine.custody_flow_bytes, share, workers));
    if (flow_limit)
      flow_limit->fail(fmt::format("{} bytes for one flow exceed box_limit, {} bytes for all flows",
                                   engine.custody_flow_bytes, engine.custody_box_bytes));
    engine.custody_flow_bytes = share;
  }
  const auto window = map.find("initial_window");
  if (window) engine.initial_window_bytes = window->size(kLeastInitialWindow, kMostCustody);
  if (engine.initial_window_bytes > engine.custody_flow_bytes) {
    const char* limit = flow_limit                           ? "flow_limit"
                        : engine.custody_flow_bytes != share ? "the limit of a flow without flow_limit"
                        : workers > 1                        ? "the limit of a flow, a worker's share of box_limit"
                                                             : "the limit of a flow, all of box_limit";
    if (window)
      window->fail(
          fmt::format("{} bytes exceed {}, {} bytes", engine.initial_window_bytes, limit, engine.custody_flow_bytes));
    engine.initial_window_bytes = engine.custody_flow_bytes;
  }
  const auto mbufs = map.find("mbufs");
  if (mbufs)
    engine.custody_mbufs = static_cast<std::uint32_t>(mbufs->integer(kLeastLargeBuffers * workers, kMostBuffers));
  const auto small_mbufs = map.find("small_mbufs");
  if (small_mbufs)
    out.pools.small_frames = static_cast<std::uint32_t>(small_mbufs->integer(kLeastSmallBuffers, kMostBuffers));
  if (promised) out.promise_position = promised->frames.position();
  if (out.process.mtu) check_frames_arrive(out, *out.process.mtu);
  if (promised) size_buffers(*promised, mbufs, small_mbufs, out);
}

void read_cnp(const Value& value, BoxConfig& out) {
  constexpr std::int64_t kLastDscp = 63;
  const Map map = value.map({"send", "interval", "dscp", "from_wan"});
  custody::CnpSettings& cnp = out.engine.cnp;
  if (const auto v = map.find("send")) cnp.send = v->boolean();
  if (const auto v = map.find("interval")) cnp.interval = v->duration(microseconds(1), seconds(1));
  if (const auto v = map.find("dscp")) cnp.dscp = static_cast<std::uint8_t>(v->integer(0, kLastDscp));
  if (const auto v = map.find("from_wan")) cnp.from_wan = v->choice<custody::WanCnps>(kWanCnpNames);
}

void read_timers(const Value& value, BoxConfig& out) {
  const Map map = value.map({"rto_initial", "rto_min", "rto_max", "give_up", "longest_give_up", "confirm_again",
                             "dreq_hold", "reorder_wait", "ack_unasked", "drain"});
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
    (give_up ? *give_up : *most).fail("give_up is shorter than rto_max: a flow could fail before its first resend");
  const auto longest = read("longest_give_up", engine.longest_give_up, milliseconds(1));
  if (engine.longest_give_up < engine.give_up) {
    if (longest) longest->fail("longest_give_up is shorter than give_up");
    engine.longest_give_up = engine.give_up;
  }
  read("confirm_again", engine.confirm_again, milliseconds(1));
  read("dreq_hold", engine.dreq_hold, 0);
  // No queue pair is created again so soon (custody/reorder.cpp).
  constexpr Duration kLongestReordering = milliseconds(1);
  if (const auto v = map.find("reorder_wait")) engine.reorder_wait = v->duration(0, kLongestReordering);
  constexpr Duration kLongestUnasked = milliseconds(100);
  if (const auto v = map.find("ack_unasked")) engine.ack_unasked = v->duration(0, kLongestUnasked);
  read("drain", out.drain, 0);
}

}  // namespace

void check_frames_arrive(const BoxConfig& config, std::uint32_t mtu) {
  constexpr std::uint32_t kEthernet = 14;
  constexpr std::uint32_t kTwoTags = 8;
  const std::uint32_t least = config.promise.least_frame;
  if (config.promise.bytes == 0 || least <= mtu + kEthernet + kTwoTags) return;
  throw ConfigError(fmt::format(
      "{}: {} bytes are promised in frames of {} bytes or more, but with mtu {} no frame is larger than {}: set mtu to "
      "{}, or custody.least_frame to {}B",
      config.promise_position, config.promise.bytes, least, mtu, mtu + kEthernet, least - kEthernet, mtu + kEthernet));
}

BoxConfig read_box(const Value& top) {
  const Map map =
      top.map({"name",   "ports",   "hugepages",          "memory",     "core",         "cores",    "spread",
               "idle",   "mtu",     "descriptors",        "log",        "flow_control", "wan_rate", "wan_overhead",
               "policy", "confirm", "learn_from_traffic", "candidates", "pair_share",   "custody",  "connections",
               "timers", "metrics", "restart_record",     "link_loss",  "watchdog",     "control",  "cnp",
               "peers"});
  BoxConfig out;
  if (const auto v = map.find("name")) out.name = v->text();
  std::tie(out.host, out.wan) = read_ports(map.at("ports"), "host", "wan");
  out.process = read_process(map);
  // Each worker has its own queues, and what is in their rings holds buffers.
  out.pools.frames_reserve += out.process.descriptors.of_worker();
  out.pools.frames_reserve -= DescriptorConfig().of_worker();
  out.pools.frames_reserve *= out.process.workers();
  if (out.process.workers() > 1) out.pools.cache_reserve = out.process.workers() * engine::Pools::kKeptByWorker;
  if (const auto v = map.find("spread")) out.spread_connections = v->choice<bool>(kSpreadNames);
  if (const auto v = map.find("wan_rate")) {
    out.engine.estimate_wan_rate = !v->is(kUnlimited);
    if (out.engine.estimate_wan_rate) out.engine.wan_rate_bps = v->rate();
  }
  if (const auto v = map.find("wan_overhead")) {
    out.engine.wan_overhead = static_cast<std::uint32_t>(v->integer(0, kMostOverhead));
  }
  if (const auto v = map.find("policy")) out.engine.policies = read_policy(*v);
  if (const auto v = map.find("confirm")) {
    out.engine.confirm = v->choice<engine::Confirm>(kConfirmNames);
  }
  if (const auto v = map.find("learn_from_traffic")) out.engine.learn_from_traffic = v->boolean();
  if (const auto v = map.find("candidates"))
    out.engine.max_candidates = static_cast<std::uint32_t>(v->integer(1, kMostConnections));
  if (const auto v = map.find("pair_share")) {
    out.pair_share = v->fraction();
    if (out.pair_share < kLeastPairShare) v->fail_expected("a part from 1% to 100%");
  }
  if (const auto v = map.find("custody")) read_custody(*v, out);
  out.engine.connections_pair_share = out.pair_share;
  // What is promised, one pair of hosts may need alone.
  out.engine.custody_pair_share = std::max(
      out.pair_share, static_cast<double>(out.promise.bytes) / static_cast<double>(out.engine.custody_box_bytes));
  if (const auto v = map.find("connections"))
    out.engine.max_connections = static_cast<std::uint32_t>(v->integer(1, kMostConnections));
  if (const auto v = map.find("cnp")) read_cnp(*v, out);
  if (const auto v = map.find("timers")) read_timers(*v, out);
  if (const auto v = map.find("metrics")) out.metrics = read_metrics(*v);
  if (const auto v = map.find("control")) {
    out.control = read_control(*v);
    if (out.control.telemetry) out.process.telemetry_as = telemetry_name(out.name);
  }
  if (const auto v = map.find("restart_record")) {
    out.restart_record = v->text();
    out.restart_record_position = v->position();
    if (out.restart_record.front() != '/' || out.restart_record.back() == '/')
      v->fail_expected("an absolute path of a file such as /run/longhaul/box.record");
  }
  if (const auto v = map.find("peers")) out.peers = read_peers(*v);
  if (const auto v = map.find("link_loss")) out.link_loss = v->choice<LinkLoss>(kLinkLossNames);
  if (const auto v = map.find("watchdog")) {
    const Map watchdog = v->map({"stall", "action"});
    if (const auto stall = watchdog.find("stall")) out.stall = stall->duration(milliseconds(100), seconds(60));
    if (const auto action = watchdog.find("action")) out.on_stall = action->choice<OnStall>(kOnStallNames);
  }
  out.pools.frames = out.engine.custody_mbufs + out.pools.frames_reserve;
  return out;
}

}  // namespace longhaul::config
