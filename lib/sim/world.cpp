// SPDX-License-Identifier: BSD-3-Clause
#include "sim/world.hpp"

#include <fmt/format.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <stdexcept>

#include "sim/neighbours.hpp"
#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

constexpr Time kEpoch = seconds(1000);
constexpr Duration kHorizon = seconds(7200);
// When an operator's tool looks whether custody is empty: soon, then less and less often.
constexpr Duration kFirstLook = microseconds(100);
constexpr Duration kLastLook = milliseconds(50);
constexpr Duration kLook = milliseconds(2);  // how often applications look at their connections

// How long frames may wait in rings of boxes that stand still.
Duration pauses(const Case& c) { return microseconds(c.box_a.pause_us + c.box_b.pause_us); }

// Of a connection learned from traffic a box cannot tell forged DREQs from true ones. When they fill its places, the
// true one waits for one of CM's next tries, and there may be none.
Duration dreq_limit(const Case& c) {
  constexpr Duration kMargin = milliseconds(200);
  const bool forged = c.a.forged_us != 0 || c.b.forged_us != 0;
  return forged ? kNever : milliseconds(c.dreq_hold_ms) + pauses(c) + kMargin;
}

std::string flow_name(unsigned requester_host, unsigned connection, unsigned generation) {
  return fmt::format("{}{}.{}", requester_host == 0 ? "A>B " : "B>A ", connection, generation);
}

}  // namespace

/// A host's way onto its segment.
struct World::Port final : Outlet {
  Port(World& its_world, unsigned its_host)
      : world(its_world), host(its_host), line(host_plan(its_world.case_, its_host).port_mbps) {}
  void put(std::span<const std::uint8_t> frame) override {
    if (line.limited()) send((frame.size() + world.case_.line_overhead) * 8);
    // ACKs are many.
    const bool small = frame.size() <= engine::Pools::kSmallBytes[0];
    rte_mbuf* mbuf = to_mbuf(small ? world.pools_.small[0] : world.pools_.frames, frame);
    if (world.next_hop_is_dead(host)) rte_pktmbuf_mtod(mbuf, wire::EthernetHeader*)->destination = new_next_hop();
    world.tell(host == 0 ? "A > " : "B > ", mbuf);
    world.offer(host == 0 ? 0 : 2, host == 0 ? link::Way::a_to_b : link::Way::b_to_a, mbuf);
  }
  Time free_at() const override { return free; }
  void send(std::uint64_t bits) {
    if (free < world.now_) {
      free = world.now_;
      line.begin();
    }
    free += line.next(bits);
  }
  World& world;
  unsigned host;
  LineTime line;
  Time free = 0;  ///< when what was put has left
};

/// One generation of a connection: a QP at each host, what each posts, a flow in each direction.
struct World::Connection {
  unsigned number = 0;
  unsigned generation = 0;
  std::array<std::unique_ptr<Work>, 2> work;     ///< by the host that posts it
  std::array<std::shared_ptr<QueuePair>, 2> qp;  ///< by host
  std::array<std::size_t, 2> flow{};             ///< the judge's numbers, by requester
  Time error_since = kNever;                     ///< one end is in error
  bool closing = false;
  std::array<bool, 2> closed{};  ///< by its application, because of an error
  bool over = false;
  bool left = false;        ///< its hosts have ended it
  bool done = false;        ///< and it was done
  bool comes_back = false;  ///< the next generation has an appointment, or waits for the others'
  Time began = 0;
};

// ---- set-up -----------------------------------------------------------------------------------

World::World(const Case& c, const engine::Pools& pools, Trace trace)
    : case_(c),
      pools_(pools),
      trace_(std::move(trace)),
      start_(kEpoch),
      now_(kEpoch),
      in_use_before_(0),
      judge_(kEpoch, milliseconds(c.dreq_hold_ms), dreq_limit(c)) {
  in_use_before_ = buffers_in_use();
  for (unsigned s = 0; s < 3; ++s) {
    const auto& harm = c.harm[s];
    const std::array<BurstPlan, 2> bursts = {
        {{static_cast<std::uint32_t>(harm[0].burst), static_cast<std::uint32_t>(harm[0].burst_frames)},
         {static_cast<std::uint32_t>(harm[1].burst), static_cast<std::uint32_t>(harm[1].burst_frames)}}};
    Outage outage;
    if (c.outage_us != 0 && c.outage_segment == s)
      outage = {start_ + microseconds(c.outage_at_us), start_ + microseconds(c.outage_at_us + c.outage_us)};
    segments_[s] = std::make_unique<Segment>(segment_settings(case_, s), bursts, outage, s);
  }
  const std::uint32_t pair_hash = steer::pair_hash(address_of(c, 0).ip, address_of(c, 1).ip);
  for (unsigned h = 0; h < 2; ++h) {
    if (box_plan(case_, h).workers > 1) judge_.set_several_workers(h);
    ports_[h] = std::make_unique<Port>(*this, h);
    hosts_[h] = std::make_unique<Host>(address_of(c, h).ip, vlan_of(c), *ports_[h],
                                       Listener(listener_plan(c, h), frame_from(c, h), *ports_[h]));
    boxes_[h] =
        std::make_unique<Box>(h, box_plan(case_, h), engine_settings(c, h), pools_, pair_hash, luck_of(c), judge_,
                              judge_.observer(h), [this, h](Side out, rte_mbuf* f) { from_box(h, out, f); });
  }
  for (unsigned n = 0; n < c.connections; ++n) {
    connections_.push_back(nullptr);
    connect(n, 0, start_ + microseconds(c.starts_us) + n * microseconds(c.apart_us));
  }
  make_strays();
  plan_timeline();
}

World::~World() = default;

void World::connect(unsigned number, unsigned generation, Time when) {
  auto connection = std::make_unique<Connection>();
  connection->number = number;
  connection->generation = generation;
  connection->began = newest_life_ = when;
  for (unsigned h = 0; h < 2; ++h)
    connection->work[h] = std::make_unique<Work>(work_plan(case_, h, number, generation));
  for (unsigned h = 0; h < 2; ++h) {
    FlowPlan flow;
    flow.name = flow_name(h, number, generation);
    flow.requester_host = h;
    flow.work = connection->work[h].get();
    flow.requester = address_of(case_, h);
    flow.responder = address_of(case_, 1 - h);
    flow.vlan = vlan_of(case_);
    flow.requester_qpn = qpn_of(case_, h, number, generation);
    flow.responder_qpn = qpn_of(case_, 1 - h, number, generation);
    flow.p_key = static_cast<std::uint16_t>(case_.p_key);
    for (unsigned end = 0; end < 2; ++end)
      if (const auto cm = queue_pair_plan(case_, end, number, generation, when).cm) flow.comm_ids[end] = cm->comm_id;
    const BoxPlan& near = box_plan(case_, h);
    flow.completions_true = near.policy == 2 && (near.repolicy_at_us == 0 || near.repolicy == 2);
    connection->flow[h] = judge_.add_flow(flow);
  }
  for (unsigned h = 0; h < 2; ++h) {
    const QueuePairPlan qp = queue_pair_plan(case_, h, number, generation, when);
    connection->qp[h] = std::make_shared<QueuePair>(qp, *connection->work[h], frame_from(case_, h), *ports_[h],
                                                    judge_.responder_watch(connection->flow[1 - h]),
                                                    judge_.complainer(connection->flow[h]));
    hosts_[h]->add(connection->qp[h]);
    judge_.set_requester(connection->flow[h], connection->qp[h]->requester());
  }
  if (connections_[number]) old_.push_back(std::move(connections_[number]));
  connections_[number] = std::move(connection);
  for (unsigned h = 0; h < 2; ++h)
    if (strays_[h]) strays_[h]->aim(targets_of(h), when);
}

std::vector<Target> World::targets_of(unsigned host) const {
  std::vector<Target> targets;
  for (const auto& connection : connections_)
    targets.push_back({connection->qp[host]->plan().qpn, connection->qp[1 - host]->plan().qpn,
                       connection->work[host]->plan().starting_psn, connection->work[1 - host]->plan().starting_psn});
  return targets;
}

void World::make_strays() {
  for (unsigned h = 0; h < 2; ++h) {
    const HostPlan& plan = host_plan(case_, h);
    const StrayPlan strays{microseconds(plan.foreign_us), microseconds(plan.forged_us), plan.forged_reads != 0};
    strays_[h] = std::make_unique<Strays>(strays, frame_from(case_, h), targets_of(h), case_.seed, h, *ports_[h],
                                          start_ + microseconds(case_.starts_us));
    LoadPlan load;
    load.mbps = plan.load_mbps;
    load.payload = static_cast<std::uint32_t>(plan.load_bytes);
    load.from = start_ + microseconds(plan.load_at_us);
    if (plan.load_us != 0) load.until = load.from + microseconds(plan.load_us);
    loads_[h] = std::make_unique<Load>(load, frame_from(case_, h), *ports_[h]);
  }
}

void World::plan_timeline() {
  const auto at = [this](Number us, std::function<void()> what) {
    timeline_.push_back({start_ + microseconds(us), std::move(what)});
  };
  for (unsigned b = 0; b < 2; ++b) {
    const BoxPlan& plan = box_plan(case_, b);
    if (plan.present == 0) continue;
    if (plan.start_at_us == 0)
      start_box(b);
    else
      at(plan.start_at_us, [this, b] { start_box(b); });
    const auto drain = [this, b](bool on) {
      if (boxes_[b]->running()) boxes_[b]->set_draining(on);
    };
    if (plan.drain_at_us != 0) at(plan.drain_at_us, [drain] { drain(true); });
    if (plan.undrain_at_us != 0) at(plan.undrain_at_us, [drain] { drain(false); });
    if (plan.repolicy_at_us != 0)
      at(plan.repolicy_at_us, [this, b] {
        if (boxes_[b]->running()) boxes_[b]->reconfigure(engine_settings(case_, b, true));
      });
    if (plan.bypass_at_us != 0) at(plan.bypass_at_us, [this, b] { bypass_box(b, kFirstLook); });
    if (plan.pause_us != 0)
      at(plan.pause_at_us, [this, b, pause = microseconds(plan.pause_us)] {
        if (!boxes_[b]->running()) return;
        ++totals_.pauses;
        boxes_[b]->pause(now_, now_ + pause);
        judge_.box_stands_still(b, now_ + pause);
      });
    if (plan.crash_at_us != 0) {
      at(plan.crash_at_us, [this, b] { crash_box(b); });
      if (plan.restart_after_us != 0) at(plan.crash_at_us + plan.restart_after_us, [this, b] { start_box(b); });
    }
  }
  plan_next_hop();
  std::ranges::stable_sort(timeline_, {}, &Appointment::at);
}

// The gateway asks for the host's address again and again, as gateways do, so that losing some matters to nobody.
void World::plan_next_hop() {
  constexpr Number kAskedEach = 1000;  // us
  if (case_.next_hop_dies_at_us == 0) return;
  const auto host = static_cast<unsigned>(case_.next_hop_host);
  if (case_.next_hop_told == 2)
    for (Number us = 0; us < std::min<Number>(case_.next_hop_dies_at_us, 100 * kAskedEach); us += kAskedEach)
      timeline_.push_back(
          {start_ + microseconds(us), [this, host] {
             const auto frame =
                 question(case_, gateway_of(case_), address_of(case_, 1 - host).mac, address_of(case_, host).ip);
             offer(1, host == 0 ? link::Way::b_to_a : link::Way::a_to_b, to_mbuf(pools_.small[0], frame));
           }});
  timeline_.push_back({start_ + microseconds(case_.next_hop_dies_at_us), [this] { tell_next_hop(100); }});
}

void World::tell_next_hop(unsigned times) {
  constexpr Duration kRepeated = milliseconds(200);
  const auto host = static_cast<unsigned>(case_.next_hop_host);
  if (case_.next_hop_told == 0) {
    constexpr std::uint32_t kNobody = 0x99;
    ports_[host]->put(frame_from(case_, host).opcode(wire::kUdSendOnly).qpn(kNobody).payload_size(16).build());
  } else {
    const wire::IpAddress ip = case_.next_hop_told == 1 ? address_of(case_, 1 - host).ip : gateway_of(case_);
    offer(1, host == 0 ? link::Way::b_to_a : link::Way::a_to_b,
          to_mbuf(pools_.small[0], announcement(case_, ip, new_next_hop())));
  }
  if (times > 1) appoint(now_ + kRepeated, [this, times] { tell_next_hop(times - 1); });
}

bool World::next_hop_is_dead(unsigned host) const {
  return case_.next_hop_dies_at_us != 0 && case_.next_hop_host == host &&
         now_ >= start_ + microseconds(case_.next_hop_dies_at_us);
}

// Passed on by the router: addressed to the far host. The box that sent the frame may have it in custody still.
rte_mbuf* World::from_new_next_hop(unsigned host, rte_mbuf* frame) const {
  if (rte_pktmbuf_mtod(frame, const wire::EthernetHeader*)->destination != new_next_hop()) return frame;
  rte_mbuf* copy = rte_pktmbuf_copy(frame, pools_.frames, 0, UINT32_MAX);
  if (copy == nullptr) throw std::runtime_error("the simulated world has run out of buffers");
  rte_pktmbuf_mtod(copy, wire::EthernetHeader*)->destination = address_of(case_, 1 - host).mac;
  rte_pktmbuf_free(frame);
  return copy;
}

bool World::lost_at_next_hop(unsigned host, const rte_mbuf* frame) const {
  return next_hop_is_dead(host) &&
         rte_pktmbuf_mtod(frame, const wire::EthernetHeader*)->destination == address_of(case_, 1 - host).mac;
}

void World::appoint(Time when, std::function<void()> what) {
  const auto place = std::ranges::upper_bound(timeline_, when, {}, &Appointment::at);
  timeline_.insert(place, {when, std::move(what)});
}

// As `longhaul ctl bypass on` does: drain first.
void World::bypass_box(unsigned box, Duration look) {
  Box& its = *boxes_[box];
  if (!its.running()) return;
  its.set_draining(true);
  if (its.custody_packets() != 0 || its.waiting_frames() != 0) {
    appoint(now_ + look, [this, box, look] { bypass_box(box, std::min(2 * look, kLastLook)); });
    return;
  }
  judge_.box_forgets(box);
  its.set_bypass(true, now_);
  ran_whole_[box] = false;
  const Number duration = box_plan(case_, box).bypass_us;
  if (duration == 0) return;
  appoint(now_ + microseconds(duration), [this, box] {
    if (!boxes_[box]->running()) return;
    boxes_[box]->set_bypass(false, now_);
    boxes_[box]->set_draining(false);
  });
}

void World::start_box(unsigned box) {
  if (boxes_[box]->running()) return;
  judge_.box_starts(box, now_);
  boxes_[box]->start(now_);
}

void World::crash_box(unsigned box) {
  if (!boxes_[box]->running()) return;
  ++totals_.crashes;
  ran_whole_[box] = false;
  count_engine(box);
  const std::uint64_t owed = boxes_[box]->unconfirmed_bytes();
  boxes_[box]->crash();
  // A record that no later process reads tells nobody.
  const bool remembered = box_plan(case_, box).record != 0 && box_plan(case_, box).restart_after_us != 0;
  judge_.box_crashed(box, owed, remembered);
}

// ---- frames on their way ----------------------------------------------------------------------

void World::tell(const char* where, const rte_mbuf* frame) const {
  if (trace_) trace_(now_ - start_, where, View(frame));
}

void World::offer(unsigned segment, link::Way way, rte_mbuf* frame) {
  ++totals_.frames;
  segments_[segment]->offer(way, frame, now_);
}

void World::deliver(unsigned segment, link::Way way) {
  constexpr std::size_t kBurst = 64;
  std::array<rte_mbuf*, kBurst> frames{};
  const std::size_t count = segments_[segment]->collect(way, frames.data(), kBurst, now_);
  std::span<rte_mbuf* const> burst(frames.data(), count);
  const bool to_b = way == link::Way::a_to_b;
  const unsigned host = to_b ? 1 : 0;
  if (segment == (to_b ? 2u : 0u)) {
    for (rte_mbuf* frame : burst) {
      tell(host == 0 ? "> A " : "> B ", frame);
      hosts_[host]->receive(frame, now_);
      rte_pktmbuf_free(frame);
    }
    return;
  }
  const unsigned box = segment == 1 ? host : 1 - host;
  if (segment == 1 && next_hop_is_dead(1 - host)) {
    const auto lost = std::stable_partition(frames.begin(), frames.begin() + count,
                                            [&](const rte_mbuf* frame) { return !lost_at_next_hop(1 - host, frame); });
    const auto left = static_cast<std::size_t>(lost - frames.begin());
    totals_.outage_lost += count - left;
    for (rte_mbuf* frame : burst.subspan(left)) rte_pktmbuf_free(frame);
    burst = burst.first(left);
    if (burst.empty()) return;
    std::for_each_n(frames.begin(), left, [&](rte_mbuf*& frame) { frame = from_new_next_hop(1 - host, frame); });
  }
  at_box(box, segment == 1 ? Side::wan : Side::host, burst);
}

void World::at_box(unsigned box, Side side, std::span<rte_mbuf* const> frames) {
  const BoxPlan& plan = box_plan(case_, box);
  const bool pass_by =
      plan.answers_pass_by_at_us != 0 && side == Side::wan && now_ >= start_ + microseconds(plan.answers_pass_by_at_us);
  if (boxes_[box]->running() && !pass_by) {
    for (rte_mbuf* frame : frames)
      tell(box == 0 ? (side == Side::host ? "  > boxA" : "  boxA <") : (side == Side::host ? "  boxB <" : "  > boxB"),
           frame);
    boxes_[box]->receive(side, frames, now_);
    return;
  }
  // The way past the box: straight into the next segment, or into the dark while a crashed box blocks the way.
  const bool dark = plan.dark != 0 && plan.present != 0 && plan.crash_at_us != 0 && !pass_by &&
                    now_ >= start_ + microseconds(plan.crash_at_us);
  for (rte_mbuf* frame : frames) {
    if (dark && plan.restart_after_us != 0)
      rte_pktmbuf_free(frame);
    else
      from_box(box, other(side), frame);
  }
}

void World::from_box(unsigned box, Side out, rte_mbuf* frame) {
  tell(box == 0 ? (out == Side::host ? "  < boxA" : "  boxA >") : (out == Side::host ? "  boxB >" : "  < boxB"), frame);
  const bool to_b = (box == 0) == (out == Side::wan);
  const unsigned segment = out == Side::wan ? 1 : (box == 0 ? 0 : 2);
  offer(segment, to_b ? link::Way::a_to_b : link::Way::b_to_a, frame);
}

// ---- time -------------------------------------------------------------------------------------

Time World::next_event() const {
  Time next = kNever;
  for (const auto& segment : segments_)
    next = std::min({next, segment->next_deadline(link::Way::a_to_b), segment->next_deadline(link::Way::b_to_a)});
  for (unsigned i = 0; i < 2; ++i)
    next = std::min({next, hosts_[i]->next_deadline(), boxes_[i]->next_deadline(), strays_[i]->next_deadline(),
                     loads_[i]->next_deadline()});
  if (!timeline_.empty()) next = std::min(next, timeline_.front().at);
  return next;
}

void World::step() {
  judge_.time_is(now_);
  while (!timeline_.empty() && timeline_.front().at <= now_) {
    const auto what = std::move(timeline_.front().what);
    timeline_.erase(timeline_.begin());
    what();
  }
  for (unsigned s = 0; s < 3; ++s)
    for (const link::Way way : {link::Way::a_to_b, link::Way::b_to_a})
      if (segments_[s]->next_deadline(way) <= now_) deliver(s, way);
  for (unsigned i = 0; i < 2; ++i) {
    if (hosts_[i]->next_deadline() <= now_) hosts_[i]->poll(now_);
    if (boxes_[i]->next_deadline() <= now_) boxes_[i]->poll(now_);
    if (strays_[i]->next_deadline() <= now_) strays_[i]->poll(now_);
    if (loads_[i]->next_deadline() <= now_) loads_[i]->poll(now_);
  }
  check_boxes();
}

Result World::run(std::uint64_t max_events) {
  Result result;
  Time next_look = start_;
  while (!judge_.violation()) {
    const Time event = next_event();
    const bool over = std::ranges::all_of(connections_, [](const auto& c) { return c->over; });
    if (over && quiet()) break;
    const Time next = over ? event : std::min(event, std::max(next_look, now_));
    if (next == kNever) break;
    now_ = std::max(now_, next);
    if (++totals_.steps > max_events || now_ > newest_life_ + kHorizon) {
      std::string who;
      for (const auto& c : connections_)
        for (unsigned h = 0; h < 2; ++h)
          if (!c->qp[h]->requester().ended())
            who += fmt::format(" {}{}: {} of {} messages;", h == 0 ? "A>B " : "B>A ", c->number,
                               c->qp[h]->requester().succeeded(), c->work[h]->messages().size());
      bool told = true;
      for (const auto& c : connections_)
        for (unsigned h = 0; h < 2; ++h)
          if (judge_.flow_failed(c->flow[h]) && !c->qp[h]->requester().ended()) told = false;
      judge_.report(told ? Rule::live : Rule::fail_loudly,
                    fmt::format("no end in sight after {} events:{} custody {} and {} packets", totals_.steps, who,
                                boxes_[0]->running() ? boxes_[0]->custody_packets() : 0,
                                boxes_[1]->running() ? boxes_[1]->custody_packets() : 0),
                    now_);
      break;
    }
    step();
    if (now_ >= next_look) {
      look_at_connections();
      // Often at first, then rarely: patient requesters and closing boxes take seconds.
      next_look = now_ + std::max<Duration>(kLook, (now_ - std::min(now_, newest_life_)) / 64);
      if (std::ranges::all_of(connections_, [](const auto& c) { return c->over || c->comes_back; }))
        next_look = std::max(next_look, newest_life_);
    }
  }
  if (!judge_.violation()) check_end();
  result.lasted = now_ - start_;
  result.deliveries = deliveries();
  for (const link::Way way : {link::Way::a_to_b, link::Way::b_to_a})
    result.wan_frames[static_cast<std::size_t>(way)] = segments_[1]->counters(way).received;
  for (unsigned b = 0; b < 2; ++b) {
    if (boxes_[b]->running()) count_engine(b);
    boxes_[b]->crash();
    totals_.forged += strays_[b]->forged();
    totals_.ring_lost += boxes_[b]->ring_lost();
  }
  for (const auto& segment : segments_) {
    totals_.burst_lost += segment->burst_lost();
    totals_.outage_lost += segment->outage_lost();
    for (const link::Way way : {link::Way::a_to_b, link::Way::b_to_a}) {
      const link::Counters& counters = segment->counters(way);
      totals_.lost += counters.lost;
      totals_.queue_dropped += counters.queue_dropped;
      totals_.duplicated += counters.duplicated;
      totals_.reordered += counters.reordered;
      totals_.corrupted += counters.corrupted;
      totals_.scripted += counters.event_drop + counters.event_duplicate + counters.event_delay +
                          counters.event_corrupt + counters.event_ecn;
    }
  }
  for (auto& segment : segments_) segment.reset();
  if (!judge_.violation() && buffers_in_use() != in_use_before_)
    judge_.report(Rule::bounded, fmt::format("{} buffers in use before, {} after", in_use_before_, buffers_in_use()),
                  now_);
  result.violation = judge_.violation();
  result.totals = totals_;
  return result;
}

// ---- connections ------------------------------------------------------------------------------

bool World::finished(const Connection& c) const {
  const auto refused = [](const QueuePair& qp) {
    return qp.cm() != nullptr && qp.cm()->state() == CmAgent::State::refused;
  };
  if (refused(*c.qp[0]) || refused(*c.qp[1])) {
    // The other end's exchange may wait in a box that stands still.
    if (std::ranges::any_of(boxes_, [](const auto& box) { return box->stands_still(); })) return false;
    return std::ranges::all_of(c.qp, [](const auto& qp) { return qp->over() || qp->in_error() || !qp->open(); });
  }
  const bool ended = c.qp[0]->requester().ended() && c.qp[1]->requester().ended();
  if (case_.close == 0 || !is_announced(case_, c.generation)) {
    const bool open = c.qp[0]->open() && c.qp[1]->open();
    return (open || c.qp[0]->in_error() || c.qp[1]->in_error()) && ended;
  }
  return c.qp[0]->over() && c.qp[1]->over();
}

// No fatal NAK tells its requester, which ends by its retry count.
bool World::ended_unconfirmed(std::size_t flow) const {
  return judge_.ended_unconfirmed(flow, case_.a.forged_us != 0 || case_.b.forged_us != 0);
}

// What applications do: close when done, notice errors, connect again.
void World::look_at_connections() {
  for (unsigned n = 0; n < connections_.size(); ++n) {
    Connection& c = *connections_[n];
    if (c.over || c.comes_back) continue;
    for (unsigned h = 0; h < 2; ++h)
      if (ended_unconfirmed(c.flow[h])) c.qp[h]->lose_patience();
    const bool with_cm = is_announced(case_, c.generation) && case_.close != 0;
    const bool open = c.qp[0]->open() && c.qp[1]->open();
    const bool ended = c.qp[0]->requester().ended() && c.qp[1]->requester().ended();
    if (with_cm && !c.closing) {
      const bool early =
          case_.close >= 4 && open && now_ >= c.qp[0]->plan().starts_at + microseconds(case_.close_at_us);
      if (early || (open && ended && case_.close < 4)) {
        c.closing = true;
        if (case_.close == 1 || case_.close == 3 || case_.close == 4) c.qp[0]->close(now_);
        if (case_.close == 2 || case_.close == 3 || case_.close == 5) c.qp[1]->close(now_);
      }
    }
    // A QP in error is closed by its application, and the peer's hears of it, by DREQ or otherwise.
    for (unsigned h = 0; h < 2; ++h) {
      if (!c.qp[h]->in_error()) continue;
      c.error_since = std::min(c.error_since, now_);
      if (with_cm && !c.closed[h]) c.qp[h]->close(now_);
      c.closed[h] = true;
      const Duration patience = with_cm ? microseconds(case_.cm_timeout_us) * (kCmTries + 2) : seconds(2);
      if (now_ - c.error_since > patience && !c.qp[1 - h]->in_error()) c.qp[1 - h]->close(now_);
    }
    if (case_.leave_us != 0 && now_ >= c.began + microseconds(case_.leave_us) && !finished(c)) leave(c);
    if (!finished(c)) continue;
    if (c.generation < case_.come_back) {
      if (!c.left) leave(c);
      come_back(n);
      continue;
    }
    c.over = true;
    if (c.generation < case_.reconnect && with_cm && c.qp[0]->over() && c.qp[1]->over()) {
      // TIMEWAIT: what is under way has arrived or died.
      const Duration gap = 4 * microseconds(case_.wan_delay_us) + pauses(case_) + milliseconds(20);
      connect(n, c.generation + 1, now_ + gap);
    }
  }
}

// Crosswise all at once: none takes the QPN of one that still lives.
void World::come_back(unsigned number) {
  connections_[number]->comes_back = true;
  if (case_.come_back_crosswise != 0) {
    if (!std::ranges::all_of(connections_, [](const auto& c) { return c->comes_back; })) return;
    for (unsigned n = 0; n < connections_.size(); ++n) appoint_next_life(n);
  } else {
    appoint_next_life(number);
  }
}

// What the hosts had sent has arrived or died by then, as any transport must rely on (IBTA vol. 1, 12.9.8.4, TimeWait).
void World::appoint_next_life(unsigned number) {
  const Connection& c = *connections_[number];
  Duration lifetime = 4 * microseconds(case_.wan_delay_us) + milliseconds(20);
  constexpr Duration kSlowQueue = milliseconds(300);
  if (case_.wan_mbps != 0) lifetime += kSlowQueue;
  Time when = now_ + std::max(lifetime, microseconds(case_.come_back_us));
  if (case_.come_back_crosswise != 0) when += number * microseconds(case_.apart_us);
  newest_life_ = std::max(newest_life_, when);
  appoint(when, [this, number, next = c.generation + 1] { connect(number, next, now_); });
}

// Both applications are gone, and their QPs with them.
void World::leave(Connection& c) {
  c.done = c.qp[0]->requester().ended() && c.qp[1]->requester().ended();
  c.left = true;
  for (const auto& qp : c.qp) qp->vanish();
}

bool World::quiet() const {
  for (unsigned i = 0; i < 2; ++i) {
    strays_[i]->stop();
    loads_[i]->stop();
    if (!boxes_[i]->running()) continue;
    if (boxes_[i]->custody_packets() != 0 || boxes_[i]->waiting_frames() != 0) return false;
  }
  return std::ranges::all_of(segments_, [](const auto& s) { return s->held() == 0; });
}

// ---- checks -----------------------------------------------------------------------------------

void World::check_boxes() {
  for (unsigned b = 0; b < 2; ++b) {
    if (!boxes_[b]->running()) continue;
    const BoxPlan& plan = box_plan(case_, b);
    for (unsigned worker = 0; worker < boxes_[b]->workers(); ++worker)
      judge_.check_limits(b, boxes_[b]->engine(worker),
                          std::min(plan.box_bytes, plan.flow_bytes * (old_.size() + connections_.size())), now_);
  }
}

void World::check_end() {
  for (const auto* list : {&old_, &connections_}) {
    for (const auto& c : *list) {
      // A requester that ends takes both directions with it.
      const bool unconfirmed = ended_unconfirmed(c->flow[0]) || ended_unconfirmed(c->flow[1]);
      const bool haunted = judge_.haunted(c->flow[0]) || judge_.haunted(c->flow[1]);
      for (unsigned h = 0; h < 2; ++h) {
        const Requester& requester = c->qp[h]->requester();
        const std::size_t posted = c->work[h]->messages().size();
        totals_.messages += requester.succeeded();
        if (requester.failed()) ++totals_.failed_requesters;
        judge_.check_end(c->flow[h], requester, c->qp[1 - h]->responder(), now_);
        const bool started = c->qp[h]->open();
        if (started && !requester.ended())
          judge_.report(judge_.flow_failed(c->flow[h]) ? Rule::fail_loudly : Rule::live,
                        fmt::format("{}{} never ended: {} of {} messages", h == 0 ? "A>B " : "B>A ", c->number,
                                    requester.succeeded(), posted),
                        now_);
        const bool cut = c->left && !c->done;
        const bool must = must_complete(case_) && !unconfirmed && !haunted;
        if (started && !cut && c->qp[1 - h]->open() && must && requester.succeeded() != posted)
          judge_.report(Rule::live,
                        fmt::format("{}{}: {} of {} messages completed, status {}", h == 0 ? "A>B " : "B>A ", c->number,
                                    requester.succeeded(), posted, static_cast<int>(requester.status())),
                        now_);
      }
    }
  }
  for (unsigned b = 0; b < 2; ++b) {
    if (!boxes_[b]->running()) continue;
    if (boxes_[b]->custody_packets() != 0)
      judge_.report(Rule::live, fmt::format("box {} still has {} packets in custody", b, boxes_[b]->custody_packets()),
                    now_);
    if (ran_whole_[b]) judge_.check_end(b, now_);
  }
}

std::vector<Delivery> World::deliveries() const {
  std::vector<Delivery> all;
  for (const auto* list : {&old_, &connections_}) {
    for (const auto& c : *list) {
      for (unsigned h = 0; h < 2; ++h) {
        const Requester& requester = c->qp[h]->requester();
        if (c->work[h]->messages().empty()) continue;
        Delivery delivery;
        delivery.flow = flow_name(h, c->number, c->generation);
        delivery.host = h;
        delivery.began = requester.first_sent() != kNever;
        delivery.died = requester.failed();
        const Time accepted = judge_.accepted_all_at(c->flow[h]);
        delivery.accepted = accepted != kNever;
        if (delivery.accepted) delivery.took = accepted - requester.first_sent();
        all.push_back(std::move(delivery));
      }
    }
  }
  return all;
}

void World::count_engine(unsigned box) {
  const Counters counters = boxes_[box]->counters();
  last_counters_[box] = counters;
  totals_.pseudo_acks += counters[Counter::pseudo_acks];
  totals_.pseudo_naks += counters[Counter::pseudo_naks] + counters[Counter::repair_naks];
  totals_.resends += counters[Counter::resends];
  totals_.readdressed += counters[Counter::resends_to_new_next_hop];
  totals_.absorbed += counters[Counter::absorbed_acks] + counters[Counter::absorbed_psn_naks] +
                      counters[Counter::absorbed_rnr_naks] + counters[Counter::absorbed_duplicates] +
                      counters[Counter::absorbed_queued_duplicates];
  totals_.fatal_naks += counters[Counter::fatal_naks];
  totals_.flows_failed += counters[Counter::flows_failed];
  totals_.unconfirmed += counters[Counter::unconfirmed_at_close_packets];
  totals_.doubted += counters[Counter::flows_doubted];
  totals_.resumed += counters[Counter::flows_resumed];
  totals_.began_again += counters[Counter::flows_began_again];
  totals_.unconfirmed_in_doubt += counters[Counter::unconfirmed_in_doubt_packets];
  totals_.dreqs_held += counters[Counter::dreqs_held];
  totals_.refused_custody += counters[Counter::custody_refused_flow] + counters[Counter::custody_refused_box] +
                             counters[Counter::custody_refused_mbufs];
  totals_.rejoined += counters[Counter::flows_rejoined];
  totals_.handed_over += counters[Counter::handed_over];
  totals_.handed_home += counters[Counter::handed_home];
}

std::uint64_t World::buffers_in_use() const {
  std::uint64_t sum = rte_mempool_in_use_count(pools_.frames);
  for (const rte_mempool* pool : pools_.small) sum += rte_mempool_in_use_count(pool);
  return sum;
}

const Requester& World::requester(unsigned host, unsigned connection) const {
  return connections_[connection]->qp[host]->requester();
}
const Responder& World::responder(unsigned host, unsigned connection) const {
  return connections_[connection]->qp[host]->responder();
}
std::uint64_t World::count(unsigned box, Counter counter) const { return last_counters_[box][counter]; }

}  // namespace longhaul::sim
