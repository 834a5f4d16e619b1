// SPDX-License-Identifier: BSD-3-Clause
#include "sim/topology.hpp"

#include <rte_mbuf.h>

#include <algorithm>

#include "sim/failing_router.hpp"
#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

constexpr link::Way kWays[] = {link::Way::a_to_b, link::Way::b_to_a};

std::unique_ptr<Segment> make_segment(const Scene& scene, unsigned number) {
  const Case& c = scene.plan;
  const auto bursts_of = [](const Harm& harm) {
    return BurstPlan{static_cast<std::uint32_t>(harm.burst), static_cast<std::uint32_t>(harm.burst_frames)};
  };
  const auto& harm = c.harm[number];
  const std::array<BurstPlan, 2> bursts = {bursts_of(harm[0]), bursts_of(harm[1])};
  Outage outage;
  if (c.outage_us != 0 && c.outage_segment == number)
    outage = {scene.at(c.outage_at_us), scene.at(c.outage_at_us + c.outage_us)};
  return std::make_unique<Segment>(segment_settings(c, number), bursts, outage, number);
}

}  // namespace

struct Topology::Port final : Outlet {
  Port(Topology& its_topology, unsigned its_host)
      : topology(its_topology),
        scene(its_topology.scene_),
        host(its_host),
        line(host_plan(scene.plan, its_host).port_mbps) {}
  void put(std::span<const std::uint8_t> frame) override {
    if (line.limited()) send((frame.size() + scene.plan.line_overhead) * 8);
    // ACKs go into small buffers, because there are many. Where an attack uses up the boxes' small buffers, the hosts
    // have others.
    const bool small = frame.size() <= engine::Pools::kSmallBytes[0] && !is_attacked(scene.plan);
    rte_mbuf* mbuf = to_mbuf(small ? scene.pools.small[0] : scene.pools.frames, frame);
    if (next_hop_is_dead(scene, host)) rte_pktmbuf_mtod(mbuf, wire::EthernetHeader*)->destination = new_next_hop();
    topology.tell(host == 0 ? "A > " : "B > ", mbuf);
    topology.offer(segment_of(host), way_from(host), mbuf);
  }
  Time free_at() const override { return free; }
  void send(std::uint64_t bits) {
    if (free < scene.now) {
      free = scene.now;
      line.begin();
    }
    free += line.next(bits);
  }
  Topology& topology;
  Scene& scene;
  unsigned host;
  LineTime line;
  Time free = 0;  ///< when everything that was put has left
};

Topology::Topology(Scene& scene) : scene_(scene) {
  const Case& c = scene.plan;
  for (unsigned s = 0; s < segments_.size(); ++s) segments_[s] = make_segment(scene, s);
  const std::uint32_t pair_hash = steer::pair_hash(address_of(c, 0).ip, address_of(c, 1).ip);
  for (unsigned h = 0; h < 2; ++h) {
    if (box_plan(c, h).workers > 1) scene.judge.set_several_workers(h, has_forgers(c));
    if (box_plan(c, 1 - h).peer == number_of(BoxPeer::liar)) scene.judge.set_lied_to(h);
    if (box_plan(c, h).peer != number_of(BoxPeer::none))
      scene.judge.set_paired(h, microseconds(c.box_a.control_late_us + c.box_b.control_late_us));
    if (box_plan(c, h).cnp_absorb != 0) scene.judge.set_absorbs_cnps(h);
    ports_[h] = std::make_unique<Port>(*this, h);
    hosts_[h] = std::make_unique<Host>(address_of(c, h).ip, vlan_of(c), *ports_[h],
                                       Listener(listener_plan(c, h), frame_from(c, h), *ports_[h]));
    boxes_[h] = std::make_unique<Box>(h, box_plan(c, h), engine_settings(c, h), scene.pools, pair_hash, luck_of(c),
                                      scene.judge, scene.judge.observer(h),
                                      [this, h](Side out, rte_mbuf* frame) { from_box(h, out, frame); });
  }
  if (!is_attacked(c)) return;
  scene.judge.ignore([&c, own = vlan_of(c)](const wire::Frame& frame) { return is_tenants(c, own, frame); });
  attacker_ = std::make_unique<Attacker>(
      c, scene.start,
      [this](unsigned host, std::span<const std::uint8_t> bytes) {
        rte_mbuf* frame = to_mbuf(scene_.pools.frames, bytes);
        tell(host == 0 ? "x > " : "y > ", frame);
        offer(segment_of(host), way_from(host), frame);
      },
      [this](const std::string& what) { scene_.judge.report(Rule::exact, what, scene_.now); }, scene.imitated);
}

Topology::~Topology() = default;

Outlet& Topology::port(unsigned host) { return *ports_[host]; }

// ---- what passes beside the connections -------------------------------------------------------

void Topology::begin_strays(const std::array<std::vector<Target>, 2>& targets) {
  const Case& c = scene_.plan;
  for (unsigned h = 0; h < 2; ++h) {
    const HostPlan& plan = host_plan(c, h);
    const StrayPlan strays{microseconds(plan.foreign_us), microseconds(plan.forged_us), plan.forged_reads != 0};
    strays_[h] =
        std::make_unique<Strays>(strays, frame_from(c, h), targets[h], c.seed, h, *ports_[h], scene_.at(c.starts_us));
    LoadPlan load;
    load.mbps = plan.load_mbps;
    load.payload = static_cast<std::uint32_t>(plan.load_bytes);
    load.from = scene_.at(plan.load_at_us);
    if (plan.load_us != 0) load.until = load.from + microseconds(plan.load_us);
    loads_[h] = std::make_unique<Load>(load, frame_from(c, h), *ports_[h]);
  }
}

void Topology::aim_strays(unsigned host, std::vector<Target> targets, Time when) {
  if (strays_[host]) strays_[host]->aim(std::move(targets), when);
}

// ---- frames on their way ----------------------------------------------------------------------

void Topology::tell(const char* where, const rte_mbuf* frame) const {
  if (scene_.trace) scene_.trace(scene_.now - scene_.start, where, View(frame));
}

void Topology::offer(unsigned segment, link::Way way, rte_mbuf* frame) {
  ++scene_.totals.frames;
  segments_[segment]->offer(way, frame, scene_.now);
}

void Topology::deliver(unsigned segment, link::Way way) {
  constexpr std::size_t kBurst = 64;
  std::array<rte_mbuf*, kBurst> room{};
  const std::size_t count = segments_[segment]->collect(way, room.data(), kBurst, scene_.now);
  std::span<rte_mbuf*> frames(room.data(), count);
  const unsigned host = way == way_from(0) ? 1 : 0;
  if (segment == segment_of(host)) {
    to_host(host, frames);
  } else if (segment == kLongHaul) {
    if (box_plan(scene_.plan, host).peer != number_of(BoxPeer::none)) own_copies(frames);
    if (next_hop_is_dead(scene_, 1 - host)) {
      frames = past_routers(1 - host, frames);
      if (frames.empty()) return;
    }
    at_box(host, Side::wan, frames);
  } else {
    at_box(1 - host, Side::host, frames);
  }
}

/// The other box still has some of these frames in custody. A box that holds frames from the WAN writes into their
/// buffers, which are its own NIC's.
void Topology::own_copies(std::span<rte_mbuf*> frames) {
  for (rte_mbuf*& frame : frames) {
    if (rte_mbuf_refcnt_read(frame) == 1) continue;
    rte_mbuf* copy = to_mbuf(scene_.pools.frames, {rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->pkt_len});
    rte_pktmbuf_free(frame);
    frame = copy;
  }
}

/// In a world with an attack: the frame is for the host, and an attacker has had it sent to another MAC address.
bool Topology::is_misled(unsigned host, const rte_mbuf* frame) const {
  if (!attacker_ || scene_.plan.next_hop_dies_at_us != 0) return false;
  const View view(frame);
  const HostAddress own = address_of(scene_.plan, host);
  return view.roce && view.frame.destination == own.ip &&
         rte_pktmbuf_mtod(frame, const wire::EthernetHeader*)->destination != own.mac;
}

void Topology::to_host(unsigned host, std::span<rte_mbuf* const> frames) {
  for (rte_mbuf* frame : frames) {
    tell(host == 0 ? "> A " : "> B ", frame);
    if (!is_misled(host, frame)) hosts_[host]->receive(frame, scene_.now);
    if (attacker_) attacker_->hear(host, View(frame), scene_.now);
    rte_pktmbuf_free(frame);
  }
}

/// The frames of `host` that the new router passes on. Frames to the dead router are lost.
std::span<rte_mbuf*> Topology::past_routers(unsigned host, std::span<rte_mbuf*> frames) {
  const auto lost = std::stable_partition(
      frames.begin(), frames.end(), [&](const rte_mbuf* frame) { return !lost_at_next_hop(scene_, host, frame); });
  const auto left = static_cast<std::size_t>(lost - frames.begin());
  scene_.totals.outage_lost += frames.size() - left;
  for (rte_mbuf* frame : frames.subspan(left)) rte_pktmbuf_free(frame);
  frames = frames.first(left);
  for (rte_mbuf*& frame : frames) frame = from_new_next_hop(scene_, host, frame);
  return frames;
}

void Topology::at_box(unsigned box, Side side, std::span<rte_mbuf* const> frames) {
  const BoxPlan& plan = box_plan(scene_.plan, box);
  const bool pass_by =
      plan.answers_pass_by_at_us != 0 && side == Side::wan && scene_.now >= scene_.at(plan.answers_pass_by_at_us);
  if (boxes_[box]->running() && !pass_by) {
    for (rte_mbuf* frame : frames)
      tell(box == 0 ? (side == Side::host ? "  > boxA" : "  boxA <") : (side == Side::host ? "  boxB <" : "  > boxB"),
           frame);
    boxes_[box]->receive(side, frames, scene_.now);
    return;
  }
  // The way past the box: straight into the next segment. A crashed box that blocks the way loses the frames.
  const bool dark = plan.dark != 0 && plan.present != 0 && plan.crash_at_us != 0 && !pass_by &&
                    scene_.now >= scene_.at(plan.crash_at_us);
  for (rte_mbuf* frame : frames) {
    if (dark && plan.restart_after_us != 0)
      rte_pktmbuf_free(frame);
    else
      from_box(box, other(side), frame);
  }
}

void Topology::from_box(unsigned box, Side out, rte_mbuf* frame) {
  tell(box == 0 ? (out == Side::host ? "  < boxA" : "  boxA >") : (out == Side::host ? "  boxB >" : "  < boxB"), frame);
  if (out == Side::wan)
    offer(kLongHaul, way_from(box), frame);
  else
    offer(segment_of(box), way_from(1 - box), frame);
}

// ---- time -------------------------------------------------------------------------------------

Time Topology::next_deadline() const {
  Time next = kNever;
  for (const auto& segment : segments_)
    for (const link::Way way : kWays) next = std::min(next, segment->next_deadline(way));
  for (unsigned i = 0; i < 2; ++i)
    next = std::min({next, hosts_[i]->next_deadline(), boxes_[i]->next_deadline(), strays_[i]->next_deadline(),
                     loads_[i]->next_deadline()});
  return attacker_ ? std::min(next, attacker_->next_deadline()) : next;
}

void Topology::poll() {
  const Time now = scene_.now;
  for (unsigned s = 0; s < segments_.size(); ++s)
    for (const link::Way way : kWays)
      if (segments_[s]->next_deadline(way) <= now) deliver(s, way);
  for (unsigned i = 0; i < 2; ++i) {
    if (hosts_[i]->next_deadline() <= now) hosts_[i]->poll(now);
    if (boxes_[i]->next_deadline() <= now) boxes_[i]->poll(now);
    if (strays_[i]->next_deadline() <= now) strays_[i]->poll(now);
    if (loads_[i]->next_deadline() <= now) loads_[i]->poll(now);
  }
  if (attacker_ && attacker_->next_deadline() <= now) attacker_->poll(now);
}

bool Topology::come_to_rest() {
  if (attacker_) attacker_->stop();
  for (unsigned i = 0; i < 2; ++i) {
    strays_[i]->stop();
    loads_[i]->stop();
    if (!boxes_[i]->running()) continue;
    if (boxes_[i]->custody_packets() != 0 || boxes_[i]->waiting_frames() != 0) return false;
  }
  // Peers talk for ever.
  for (const auto& box : boxes_) box->leave_peers(scene_.now);
  return std::ranges::all_of(segments_, [](const auto& segment) { return segment->held() == 0; });
}

bool Topology::a_box_stands_still() const {
  return std::ranges::any_of(boxes_, [](const auto& box) { return box->stands_still(); });
}

// ---- sums -------------------------------------------------------------------------------------

void Topology::count_engines(unsigned box) {
  last_counters_[box] = boxes_[box]->counters();
  scene_.totals.add(last_counters_[box]);
}

std::uint64_t Topology::wan_frames(link::Way way) const { return segments_[kLongHaul]->counters(way).received; }

std::vector<SentFrame> Topology::attack_frames() const {
  return attacker_ ? attacker_->sent() : std::vector<SentFrame>();
}

void Topology::dismantle() {
  Totals& totals = scene_.totals;
  for (unsigned b = 0; b < 2; ++b) {
    if (boxes_[b]->running()) count_engines(b);
    boxes_[b]->crash();
    totals.forged += strays_[b]->forged();
    totals.ring_lost += boxes_[b]->ring_lost();
  }
  for (auto& segment : segments_) {
    totals.burst_lost += segment->burst_lost();
    totals.outage_lost += segment->outage_lost();
    for (const link::Way way : kWays) totals.add(segment->counters(way));
    segment.reset();
  }
}

}  // namespace longhaul::sim
