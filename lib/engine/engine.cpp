// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.hpp"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <utility>

#include "base/fair_share.hpp"
#include "custody/buffers.hpp"
#include "engine/engine_impl.hpp"
#include "engine/lane.hpp"
#include "flow/header_checksums.hpp"
#include "wire/cm.hpp"
#include "wire/icrc.hpp"
#include "wire/psn.hpp"

namespace longhaul::engine {

using custody::Verdict;

custody::NearSettings near_settings(const Settings& settings) {
  custody::NearSettings near;
  near.lane = settings.lane;
  near.confirm_by_cm = settings.confirm == Confirm::cm;
  near.initial_window_bytes = settings.initial_window_bytes;
  near.rto_initial = settings.rto_initial;
  near.rto_min = settings.rto_min;
  near.rto_max = settings.rto_max;
  near.give_up = settings.give_up;
  near.confirm_again = settings.confirm_again;
  near.cnp = settings.cnp;
  near.reorder_wait = settings.reorder_wait;
  near.ack_unasked = settings.ack_unasked;
  return near;
}

namespace {

// A port that refused a frame is asked again after this.
constexpr Duration kRetry = microseconds(20);

// Frames of the backlog that leave in one call, and turns that send nothing: what came since must not wait for all of
// them.
constexpr unsigned kBacklogFrames = 256;

// Connections that are asked, where custody is full, whether they hold what nobody was promised. After a vain search
// none begins for a while.
constexpr std::uint32_t kCustodyLooks = 64;
constexpr Duration kCustodyLooksAgain = milliseconds(1);

// Bursts whose pseudo-ACK delays are recorded together. One call acknowledges fewer.
constexpr std::size_t kMaxAccepted = 8192;

custody::Budget budget_of(const Settings& settings, const Pools& pools) {
  custody::Budget budget;
  budget.box_bytes_limit = settings.custody_box_bytes;
  budget.flow_bytes_limit = settings.custody_flow_bytes;
  budget.large_mbufs_limit = settings.custody_mbufs;
  std::uint64_t small_mbufs = 0;
  for (const rte_mempool* pool : pools.small) small_mbufs += pool->size;
  budget.pair_bytes_limit = pair_limit_of(budget.box_bytes_limit, settings.custody_pair_share);
  budget.pair_large_mbufs_limit = pair_limit_of(budget.large_mbufs_limit, settings.custody_pair_share);
  budget.pair_small_mbufs_limit = pair_limit_of(small_mbufs, settings.custody_pair_share);
  return budget;
}

custody::SmallPools small_pools(const Pools& pools) {
  return {pools.small, Pools::kSmallBytes, PoolPlan::dreqs_of(pools.small.back()->size), pools.made, pools.frames};
}

std::uint64_t roce_parsed(const Counters& counters) {
  return counters.parsed[static_cast<std::size_t>(wire::ParseStatus::roce)] +
         counters.parsed[static_cast<std::size_t>(wire::ParseStatus::unknown_opcode)];
}

// ARP is counted as this, among much else. Neighbour Advertisements are IPv6.
std::uint64_t perhaps_arp(const Counters& counters) {
  return counters.parsed[static_cast<std::size_t>(wire::ParseStatus::not_ip)];
}

Counter frames_from(Side side) { return side == Side::host ? Counter::frames_host : Counter::frames_wan; }
Counter roce_from(Side side) { return side == Side::host ? Counter::roce_host : Counter::roce_wan; }
Counter bytes_from(Side side) { return side == Side::host ? Counter::bytes_host : Counter::bytes_wan; }

void prefetch_headers(const rte_mbuf* mbuf) { rte_prefetch0(rte_pktmbuf_mtod(mbuf, const char*)); }

// The first cache lines; the processor's own prefetcher goes on from there.
void prefetch_bytes(const rte_mbuf* mbuf) {
  constexpr std::uint32_t kBytes = 10 * RTE_CACHE_LINE_SIZE;
  const char* bytes = rte_pktmbuf_mtod(mbuf, const char*);
  // The headers have been read already.
  const std::uint32_t size = mbuf->data_len;
  // In groups: a line too many costs less than a comparison for each.
#pragma GCC unroll 4
  for (std::uint32_t group = RTE_CACHE_LINE_SIZE; group < kBytes; group += 3 * RTE_CACHE_LINE_SIZE) {
    if (group >= size) return;
#pragma GCC unroll 4
    for (std::uint32_t line = 0; line < 3; ++line) rte_prefetch0(bytes + group + line * RTE_CACHE_LINE_SIZE);
  }
}

}  // namespace

Engine::Impl::Impl(const Settings& given, const Pools& pools, Sink& sink, custody::Observer* watcher)
    : settings(given),
      observer(watcher),
      egress{{{Side::host, sink, *this}, {Side::wan, sink, *this}}},
      pacer(0),
      near(near_settings(given), budget_of(given, pools), given.max_connections, small_pools(pools), counters, *this,
           watcher),
      table(given.max_connections),
      tracker(given.max_pending_cm, given.max_connections),
      learner(given.max_candidates),
      next_hops(given.max_connections),
      held_dreqs(std::min(given.max_held_dreqs, PoolPlan::dreqs_of(pools.small.back()->size)), given.max_connections),
      dreq_pool(pools.small.back()),
      connections(given.max_connections),
      timers(given.max_connections),
      backlog(given.max_connections, given.max_connections),
      unconfirmed_backlog(given.max_connections, given.max_connections) {
  configure_pace();
  touched.resize(given.max_connections);
  accepted.reserve(kMaxAccepted);
}

Engine::Impl::~Impl() {
  peering.reset();
  for (Egress<Impl>& way : egress) way.discard();
  for (Connection& connection : connections) {
    near.discard(connection.near);
    while (!connection.dreqs.empty()) rte_pktmbuf_free(connection.dreqs.pop());
  }
}

// ---- frames -----------------------------------------------------------------------------------

void Engine::Impl::begin_call(Time time) {
  now = time;
  pacer.advance(now);
  learner.began(now);
  wan_full = false;
  if (shared != nullptr && shared->next_hops.posted() != news_read) read_news();
}

void Engine::Impl::receive(Side side, std::span<rte_mbuf* const> frames, Time time) {
  begin_call(time);
  sample.wanted = busy_pairs.samples_this_call();
  sample.taken = false;
  const std::uint64_t began = sample.wanted ? rte_rdtsc() : 0;
  while (!frames.empty()) {
    const std::size_t some = std::min(frames.size(), kBurst);
    burst(side, frames.first(some));
    frames = frames.subspan(some);
  }
  end_of_burst();
  if (sample.taken) [[unlikely]]
    note_busy(rte_rdtsc() - began);
}

// Before the burst is processed, while its frames are here: of one of them, who speaks to whom.
void Engine::Impl::take_sample(Side side, std::size_t frames) {
  const Arrival& arrival = arrivals[busy_pairs.chosen_of(frames)];
  sample.taken = wire::is_roce(arrival.status);
  if (!sample.taken) return;
  const bool from_host = side == Side::host;
  if (arrival.usual) {
    sample.hosts = {arrival.key.source(), arrival.key.destination(), {}, 0};
    sample.asks = from_host && arrival.shape.is_request() && arrival.shape.ack_req();
  } else {
    const wire::Frame& frame = arrival.frame;
    sample.hosts = {frame.source, frame.destination, frame.vlan, 0};
    sample.asks =
        from_host && frame.service() == wire::Service::rc && frame.asks_for_ack() && !frame.opcode->is_response();
  }
  if (!from_host) std::swap(sample.hosts.first, sample.hosts.second);
  sample.connection = arrival.connection;
  sample.frames = frames;
}

void Engine::Impl::note_busy(std::uint64_t ticks) { busy_pairs.note(sample.hosts, ticks, asked(), sample.frames); }

// After the burst. (Requests that pass plain are counted by their flow.)
Asked Engine::Impl::asked() const {
  if (!sample.asks || looked_up_at != table.changes()) return Asked::nothing;
  if (sample.connection == flow::ConnectionTable::kNone) return Asked::unknown;
  switch (connections[sample.connection].near.phase) {
    case custody::Phase::unconfirmed:
      return Asked::unconfirmed;
    case custody::Phase::confirmed:
    case custody::Phase::rejoining:
      return Asked::accelerated;
    default:
      return Asked::nothing;
  }
}

// First all frames are parsed, then their connections are looked up together. Then the frames are processed in turn,
// while what the next ones need comes from memory.
void Engine::Impl::burst(Side side, std::span<rte_mbuf* const> frames) {
  // How many frames before its turn: the connection first, because it tells what an answer will release from custody.
  constexpr std::size_t kConnection = 12;
  constexpr std::size_t kContents = 6;
  if (bypass) [[unlikely]] {
    pass_by(side, frames);
    return;
  }
  tries_lane = begin_lane(side);
  const std::uint64_t lane_before = counters[Counter::lane_frames];
  const std::uint64_t bytes_before = counters[bytes_from(side)];
  if (!take_apart(side, frames)) {
    if (side == Side::host) pacer.charge(counters[bytes_from(side)] - bytes_before, frames.size());
    forward_others(side, frames);
    end_lane(side, frames.size(), 0);
    return;
  }
  look_up(side, frames.size());
  const std::size_t count = frames.size();
  if (sample.wanted) [[unlikely]]
    take_sample(side, count);
  for (std::size_t i = 0; i < std::min(count, kConnection); ++i) prefetch_connection(side, arrivals[i]);
  for (std::size_t i = 0; i < std::min(count, kContents); ++i) prefetch_contents(side, arrivals[i]);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kConnection < count) prefetch_connection(side, arrivals[i + kConnection]);
    if (i + kContents < count) prefetch_contents(side, arrivals[i + kContents]);
    if (arrivals[i].usual) {
      if (lane(side, arrivals[i])) continue;
      take_apart(arrivals[i]);
    }
    frame(side, arrivals[i]);
  }
  end_lane(side, count, counters[Counter::lane_frames] - lane_before);
}

void Engine::Impl::pass_by(Side side, std::span<rte_mbuf* const> frames) {
  for (const rte_mbuf* mbuf : frames) counters[bytes_from(side)] += mbuf->pkt_len;
  counters[frames_from(side)] += frames.size();
  counters[Counter::bypassed] += frames.size();
  forward_others(side, frames);
}

void Engine::Impl::forward_but_own(Side side, std::span<rte_mbuf* const> frames) {
  for (rte_mbuf* mbuf : frames)
    if (!is_own(side, mbuf)) out(other(side)).forward(mbuf);
}

// What the hosts send to the box's address goes out to the WAN, and finds its way from there.
bool Engine::Impl::is_own(Side side, rte_mbuf* mbuf) {
  if (side == Side::host || mbuf->nb_segs != 1 || !own_taker->take(mbuf, now)) return false;
  ++counters[Counter::own_frames];
  return true;
}

// False when no frame is RoCE.
bool Engine::Impl::take_apart(Side side, std::span<rte_mbuf* const> frames) {
  // The mbuf first, then the bytes it points to.
  constexpr std::size_t kMbufsAhead = 12;
  constexpr std::size_t kHeadersAhead = 6;
  for (std::size_t i = 0; i < std::min(frames.size(), kMbufsAhead); ++i) rte_prefetch0(frames[i]);
  for (std::size_t i = 0; i < std::min(frames.size(), kHeadersAhead); ++i) prefetch_headers(frames[i]);
  const std::uint64_t roce_before = roce_parsed(counters);
  const std::uint64_t others_before = perhaps_arp(counters);
  bool ipv6 = false;
  std::uint64_t bytes = 0;
  const bool tries = tries_lane;  // a member would be read again for each frame
  const auto parse = [&](std::size_t i) __attribute__((always_inline)) {
    rte_mbuf* mbuf = frames[i];
    Arrival& arrival = arrivals[i];
    arrival.mbuf = mbuf;
    bytes += mbuf->pkt_len;
    if (mbuf->nb_segs != 1) [[unlikely]] {
      ++counters[Counter::mbuf_chained];
      arrival.status = wire::ParseStatus::too_short_ethernet;  // so nothing looks at it
      arrival.usual = false;
      return;
    }
    arrival.usual = tries && arrival.shape.take(rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len);
    if (arrival.usual) [[likely]] {
      note_place(side, arrival);
      return;
    }
    take_apart(arrival);
    ++counters.parsed[static_cast<std::size_t>(arrival.status)];
    ipv6 |= arrival.frame.ipv6;
  };
  std::size_t i = 0;
  for (; i + kMbufsAhead < frames.size(); ++i) {
    rte_prefetch0(frames[i + kMbufsAhead]);
    prefetch_headers(frames[i + kHeadersAhead]);
    parse(i);
  }
  for (; i + kHeadersAhead < frames.size(); ++i) {
    prefetch_headers(frames[i + kHeadersAhead]);
    parse(i);
  }
  for (; i < frames.size(); ++i) parse(i);
  if (tries_lane) find_places(frames.size());
  counters[frames_from(side)] += frames.size();
  counters[bytes_from(side)] += bytes;
  if (side == Side::wan && (ipv6 || perhaps_arp(counters) != others_before)) hear_neighbours(frames.size());
  const std::uint64_t roce = roce_parsed(counters) - roce_before;
  counters[roce_from(side)] += roce;
  return roce != 0;
}

void Engine::Impl::look_up(Side side, std::size_t count) {
  static_assert(kBurst <= flow::ConnectionTable::kMostAtOnce);
  std::array<Arrival*, kBurst> sought;
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (arrivals[i].usual) continue;
    arrivals[i].connection = flow::ConnectionTable::kNone;
    if (wire::is_roce(arrivals[i].status)) sought[wanted++] = &arrivals[i];
  }
  table.find(
      side, wanted, [&](std::size_t i) -> const wire::Frame& { return sought[i]->frame; },
      [&](std::size_t i, flow::ConnectionIndex connection) { sought[i]->connection = connection; });
  looked_up_at = table.changes();
}

void Engine::Impl::prefetch_connection(Side side, const Arrival& arrival) const {
  if (arrival.connection == flow::ConnectionTable::kNone) return;
  const char* bytes = reinterpret_cast<const char*>(&connections[arrival.connection]);
  const auto prefetch = [bytes](std::size_t from, std::size_t end) {
#pragma GCC unroll 16
    for (std::size_t offset = from; offset < end; offset += RTE_CACHE_LINE_SIZE) rte_prefetch0(bytes + offset);
  };
  constexpr std::size_t kByRequests = Connection::hot_bytes(Side::host);
  prefetch(0, kByRequests);
  if (side == Side::wan) prefetch(kByRequests, Connection::hot_bytes(Side::wan));
}

// The bytes, for the ICRC, and custody's bookkeeping: that of the request itself, or of what the answer will release.
void Engine::Impl::prefetch_contents(Side side, const Arrival& arrival) const {
  if (arrival.connection == flow::ConnectionTable::kNone) return;
  prefetch_bytes(arrival.mbuf);
  if (side == Side::host)
    rte_prefetch0(&custody::held_in(arrival.mbuf));
  else if (const rte_mbuf* head = connections[arrival.connection].near.queue.head())
    custody::PacketQueue::prefetch(head);
}

flow::ConnectionIndex Engine::Impl::connection_of(Side side, const Arrival& arrival) const {
  if (looked_up_at == table.changes()) [[likely]]
    return arrival.connection;
  return connection_now(side, arrival.frame);
}

flow::ConnectionIndex Engine::Impl::connection_now(Side side, const wire::Frame& frame) const {
  return table.find(side, frame).value_or(flow::ConnectionTable::kNone);
}

void Engine::Impl::frame(Side side, const Arrival& arrival) {
  if (!wire::is_roce(arrival.status)) [[unlikely]] {
    other_frame(side, arrival.mbuf);
    return;
  }
  switch (roce(side, arrival)) {
    case Verdict::forward:
      forward(other(side), arrival.mbuf);
      return;
    case Verdict::drop:
    case Verdict::taken:
      near.absorbed(arrival.mbuf);
      return;
    case Verdict::sent:
      return;
  }
}

void Engine::Impl::other_frame(Side side, rte_mbuf* mbuf) {
  if (own_taker == nullptr || !is_own(side, mbuf)) forward(other(side), mbuf);
}

Verdict Engine::Impl::roce(Side side, const Arrival& arrival) {
  const wire::Frame& frame = arrival.frame;
  switch (frame.service()) {
    case wire::Service::rc:
      return rc(side, arrival);
    case wire::Service::ud:
      if (side == Side::host) note_next_hop(frame);
      if (frame.destination_qpn() == wire::kGsiQpn) return cm(side, frame, arrival.mbuf);
      ++counters[Counter::unreliable];
      return Verdict::forward;
    case wire::Service::uc:
      if (side == Side::host) note_next_hop(frame);
      ++counters[Counter::unreliable];
      return Verdict::forward;
    case wire::Service::cnp:
      ++counters[Counter::cnps];
      if (side == Side::wan)
        if (const auto index = connection_of(side, arrival); index != flow::ConnectionTable::kNone && intact(frame)) {
          near.congestion(connections[index].near, now);
          touch(index);
          if (near.absorbs_cnp(connections[index].near)) {
            ++counters[Counter::absorbed_cnps];
            return Verdict::drop;
          }
        }
      if (side == Side::host) note_next_hop(frame);
      return Verdict::forward;
    case wire::Service::rd:
    case wire::Service::other:
      return Verdict::forward;
  }
  return Verdict::forward;
}

Verdict Engine::Impl::rc(Side side, const Arrival& arrival) {
  const wire::Frame& frame = arrival.frame;
  const bool is_answer = frame.opcode != nullptr && frame.opcode->is_response();
  if (peering != nullptr && side == Side::wan && !is_answer && !peering->far.empty()) [[unlikely]]
    if (far_request(arrival)) return Verdict::sent;
  if (peering != nullptr && side == Side::host && is_answer && !peering->copies.empty()) [[unlikely]]
    if (far_answer(arrival)) return Verdict::sent;
  const flow::ConnectionIndex index = connection_of(side, arrival);
  if (index == flow::ConnectionTable::kNone) {
    ++counters[is_answer ? Counter::responses_unlearned : Counter::requests_unlearned];
    learn_from_traffic(side, frame, true);
    return Verdict::forward;
  }
  Connection& connection = connections[index];
  connection.last_seen = now;
  if (side == Side::host) {
    if (!is_newest_shown(connection, frame.data)) [[unlikely]]
      note_next_hop(connection, frame);
    else
      connection.shown_at = now;
  }
  if (frame.congestion_experienced()) ++counters[Counter::ecn_marked];

  // Requests of the far end, and our host's answers to them, are the other box's near flow.
  const bool of_near_flow = (side == Side::host) != is_answer;
  if (!of_near_flow) return Verdict::forward;
  if (connection.near.policy != flow::Policy::off && !intact(frame)) return Verdict::forward;
  if (!custody::NearPart::plausible(connection.near, frame.psn())) {
    implausible(side, frame, index);
    if (peering == nullptr || side == Side::wan) return Verdict::forward;
    return before_peer(connection.near, arrival.mbuf, Verdict::forward);
  }
  Verdict verdict = Verdict::forward;
  if (side == Side::host) {
    // Before the call after which the frame may be the port's.
    const bool contested = connection.near.contested();
    if (contested || connection.near.phase != custody::Phase::confirmed) [[unlikely]]
      show_request(connection.near, frame);
    verdict = near.request(connection.near, frame, arrival.mbuf, now);
    const bool passes = verdict == Verdict::forward;
    // Another life's packets must not come to the far box before it has heard that there may be one.
    if (peering != nullptr && (connection.near.contested() || connection.near.phase != custody::Phase::confirmed))
        [[unlikely]]
      verdict = before_peer(connection.near, arrival.mbuf, verdict);
    // A request that has just made the flow contested passes. So does a request that a failed flow leaves to the next
    // user of its QPN.
    if (passes && !contested && (connection.near.contested() || custody::is_over(connection.near.phase))) [[unlikely]]
      learn_from_traffic(Side::host, frame, false);
  } else {
    // An answer may release packets that wait in the burst: they must be out before.
    out(Side::wan).flush();
    const bool others = wire::psn_lt(frame.psn(), connection.near.una) &&
                        !custody::NearPart::answered_lately(connection.near, now) &&
                        !near.is_last_ack(connection.near, frame);
    answering = &frame;
    verdict = near.answer(connection.near, frame, arrival.mbuf, now);
    answering = nullptr;
    if (others) [[unlikely]]
      show_answer(frame);
  }
  touch(index);
  return verdict;
}

// The connection's QPN has another user, or its QP lives another life.
void Engine::Impl::implausible(Side side, const wire::Frame& frame, flow::ConnectionIndex index) {
  if (side == Side::wan) {
    ++counters[Counter::answers_implausible];
    ++counters[Counter::answers_forwarded];
  } else {
    ++counters[Counter::requests_implausible];
    near.strange_request(connections[index].near, frame, now);
  }
  learn_from_traffic(side, frame, false);
  if (side == Side::host) touch(index);
}

// The request may belong to another connection. When nothing else says so it is only noted: the learner has few places,
// and many connections may wake at once.
void Engine::Impl::show_request(const custody::NearFlow& flow, const wire::Frame& frame) {
  if (flow.contested()) return learn_from_traffic(Side::host, frame, false);
  if (flow.policy == flow::Policy::off || !custody::NearPart::awaits_proof(flow, now)) return;
  const Duration round_trip = flow.rtt.smoothed();
  const Duration life = round_trip != 0 ? custody::kKeptBack + 2 * round_trip : flow::TrafficLearner::kBlind;
  // From the port of these QPNs only the former requester sends, and only its responder answers from it.
  const std::uint16_t port = frame.udp_source_port();
  const bool named = connections[flow.connection].derived_port && port == derived_port_of(table[flow.connection]);
  presumed_requests->note({frame.source, frame.destination, frame.vlan}, frame.psn(), now, life,
                          named ? port : UnknownRequests::kAnyPort);
}

void Engine::Impl::show_answer(const wire::Frame& frame) { learn_from_traffic(Side::wan, frame, false); }

bool Engine::Impl::intact(const wire::Frame& frame) {
  return count_intact(wire::verify_icrc(frame), [&] { return flow::header_checksums_good(frame); });
}

void Engine::Impl::forward(Side to, rte_mbuf* mbuf) {
  if (to == Side::wan) pacer.charge(mbuf->pkt_len);
  out(to).forward(mbuf);
}

// ---- the end of each call ---------------------------------------------------------------------

// A connection that is touched again during the walk over the list is in it twice.
void Engine::Impl::lengthen_touched() { touched.resize(2 * touched.size()); }

void Engine::Impl::end_of_burst() {
  near.freed().flush();
  if (now >= near.link().due_at()) [[unlikely]]
    follow_link();
  service_backlog();
  // The WAN first: a request is acknowledged once the WAN port has accepted it.
  out(Side::wan).flush();
  // An answer forwarded to the requester goes before what it made possible; both leave through the same egress, in
  // order.
  for (std::size_t i = 0; i < touched_count; ++i) {
    const flow::ConnectionIndex index = touched[i];
    Connection& connection = connections[index];
    connection.touched = false;
    near.acknowledge(connection.near, now);
    if (peering != nullptr) [[unlikely]] {
      peering->repairs.tend(connection.near, now);
      peering->order.tend(connection.near);
    }
    close_when_told(connection);
    // In doubt, custody may have been let go for another life, which a DREQ would end.
    if (!connection.dreqs.empty() && connection.near.queue.empty() && !connection.near.doubted())
      release_dreqs(index, kNever);
    if (!connection.dreqs.empty() ||
        std::min(connection.near.deadline, connection.close_deadline) < connection.scheduled)
      schedule(index);
  }
  touched_count = 0;
  out(Side::host).flush();
  out(Side::wan).flush();
  near.freed().flush();
}

void Engine::Impl::configure_pace() {
  if (!follows_link()) near.set_pace_given();
  // What the link is believed to carry is counted in frames alone.
  pacer.set_rate(settings.wan_rate_bps, settings.wan_rate_bps == 0 ? 0 : settings.wan_overhead);
}

void Engine::Impl::follow_link() {
  near.follow_link(pacer.charged_bytes(), counters[Counter::bytes_wan], now);
  if (follows_link()) pacer.set_rate(near.link().pace_bps());
}

void Engine::Impl::service_backlog() {
  const std::uint64_t enough = held_frames + kBacklogFrames;
  unsigned vain = 0;
  const auto serve = [&](Backlog& of, bool may) {
    if (of.empty() || !may || held_frames >= enough || vain >= kBacklogFrames) return false;
    if (!give_turn(of)) ++vain;
    return true;
  };
  for (bool served = true; served;) {
    served = serve(unconfirmed_backlog, may_send_unconfirmed());
    served |= serve(backlog, may_send());
  }
}

// Returns whether the connection has sent something.
bool Engine::Impl::give_turn(Backlog& of) {
  serves = &of;
  const flow::ConnectionIndex index = of.pop();
  Connection& connection = connections[index];
  connection.in_backlog = false;
  const std::uint64_t before = held_bytes;
  near.try_send(connection.near, now);
  of.sent(held_bytes - before);
  touch(index);
  serves = nullptr;
  return held_bytes != before;
}

void Engine::Impl::schedule(flow::ConnectionIndex index) {
  const Connection& connection = connections[index];
  const Time deadline = std::min({connection.near.deadline, connection.dreqs.deadline(), connection.close_deadline});
  // Deadlines mostly move to later times: the wheel learns of it when the old one comes.
  if (deadline < connection.scheduled) set_timer(index, deadline);
}

void Engine::Impl::set_timer(flow::ConnectionIndex index, Time deadline) {
  timers.set(index, deadline);
  connections[index].scheduled = deadline;
}

// ---- time -------------------------------------------------------------------------------------

void Engine::Impl::poll(Time time, Time read_until) {
  begin_call(time);
  const Time heard = std::max(read_until, now - std::min(now, kTimerPatience));
  run_timers(heard);
  if (peering != nullptr) {
    peering->far.poll(now, heard);
    peering->copies.poll(now);
    peering->repairs.poll(now);
  }
  end_of_burst();
}

void Engine::Impl::paused(Duration lasted, Time time) {
  ++counters[Counter::pauses];
  counters[Counter::paused_ns] += lasted;
  near.paused(time);
  if (peering != nullptr) drop_held(time);
}

void Engine::Impl::run_timers(Time due) {
  while (const auto first = timers.take(due)) {
    const flow::ConnectionIndex index = *first;
    Connection& connection = connections[index];
    connection.scheduled = kNever;
    if (connection.near.deadline <= now) {
      near.on_timer(connection.near, now);
      touch(index);
    }
    release_dreqs(index, now);
    if (connection.close_deadline <= now) close_silent(index);
    if (!table.in_use(index)) continue;
    schedule(index);
    // A flow that wants to be looked at again at once must not hold up the others.
    if (connection.scheduled <= now) set_timer(index, now + kRetry);
  }
}

Time Engine::Impl::next_deadline() const {
  Time deadline = timers.earliest();
  if (egress[Side::host].has_refused() || egress[Side::wan].has_refused()) deadline = std::min(deadline, now + kRetry);
  Time ready = backlog.empty() ? kNever : pacer.ready_at();
  if (!unconfirmed_backlog.empty()) ready = now < overtaken_until ? now : std::min(ready, pacer.unconfirmed_ready_at());
  if (ready != kNever) deadline = std::min(deadline, wan_full ? now + kRetry : std::max(ready, now));
  return std::min(deadline, peering_deadline());
}

// ---- what the near part and the ports say ---------------------------------------------------------

void Engine::Impl::send_held(custody::NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) {
  if (is_unconfirmed(flow)) [[unlikely]] {
    pacer.charge_unconfirmed(frame->pkt_len);
    ++held_frames;
    held_bytes += frame->pkt_len;
  } else {
    charge_held(frame->pkt_len);
  }
  out(Side::wan).send_held(flow, held, frame);
}

// Without a box, packets that came earlier would be before this one in the link's queue. So while custody refuses
// packets, and a moment longer, unconfirmed flows do not wait.
void Engine::Impl::passes_unconfirmed() {
  constexpr Duration kMoment = milliseconds(1);
  overtaken_until = now + kMoment;
  pacer.begin_share();
}

// Of all flows that wait: what the WAN takes in two milliseconds. So it has something to do while requesters that were
// slowed down become faster again.
std::uint64_t Engine::Impl::fair_backlog() const {
  constexpr std::uint64_t kPerSecond = 500;
  return pacer.rate_bps() / 8 / kPerSecond / std::max<std::uint64_t>(1, waiting_flows());
}

// CNPs share the host port with answers, and that port may be as slow as the WAN: they take a fifth of its rate at
// most.
Duration Engine::Impl::cnps_apart() const {
  constexpr Duration kLeast = microseconds(2);
  constexpr std::uint64_t kBits = 8 * 100;
  constexpr std::uint64_t kPart = 5;
  if (pacer.rate_bps() == 0) return kLeast;
  return std::max<Duration>(kLeast, kPart * kBits * 1'000'000'000 / pacer.rate_bps());
}

double Engine::Impl::excess() const {
  constexpr auto kFull = static_cast<double>(milliseconds(4));
  return std::min(1.0, static_cast<double>(pacer.debt()) / kFull);
}

void Engine::Impl::wait_to_send(custody::NearFlow& flow) {
  bool& in_backlog = connections[flow.connection].in_backlog;
  if (in_backlog) return;
  in_backlog = true;
  Backlog& among = is_unconfirmed(flow) ? unconfirmed_backlog : backlog;
  among.push(flow.connection, connections[flow.connection].pair);
}

// A request that has made its flow contested is shown to the learner, as rc() does.
void Engine::Impl::pass(const custody::NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, bool contested) {
  if (!contested && (flow.contested() || custody::is_over(flow.phase))) learn_from_traffic(Side::host, frame, false);
  forward(Side::wan, mbuf);
}

// Custody of other hosts first in line: what a pair of hosts holds itself is its own affair.
bool Engine::Impl::make_custody_room(const custody::NearFlow& flow) {
  if (now < no_such_custody_until) return false;
  const NextHops::PairIndex pair = connections[flow.connection].pair;
  for (unsigned looks = std::min(kCustodyLooks, table.capacity()); looks > 0; --looks) {
    const flow::ConnectionIndex index = custody_hand;
    custody_hand = (custody_hand + 1) % table.capacity();
    Connection& other = connections[index];
    if (!table.in_use(index) || other.pair == pair || !near.leave_unpromised(other.near)) continue;
    ++counters[Counter::custody_made_room];
    return true;
  }
  no_such_custody_until = now + kCustodyLooksAgain;
  return false;
}

void Engine::Impl::held_sent(custody::NearFlow& flow, rte_mbuf* held) {
  near.on_sent(flow, held, now);
  touch(flow.connection);
}

void Engine::Impl::held_refused(custody::NearFlow& flow, rte_mbuf* held) {
  wan_full = true;
  near.on_refused(flow, held);
}

void Engine::Impl::forwarded(Side to, std::uint64_t frames) {
  counters[to == Side::host ? Counter::forwarded_host : Counter::forwarded_wan] += frames;
}

void Engine::Impl::made_sent(Time cause) {
  if (cause == kNever) return;
  if (!accepted.empty() && accepted.back().cause == cause)
    ++accepted.back().frames;
  else if (accepted.size() < accepted.capacity())
    accepted.push_back({cause, 1});
}

void Engine::Impl::dropped(Side, bool made) {
  ++counters[made ? Counter::made_frames_lost : Counter::dropped_port_full];
}

std::uint64_t Engine::Impl::waiting_frames() const {
  std::uint64_t frames = egress[Side::host].waiting() + egress[Side::wan].waiting();
  if (peering != nullptr) frames += peering->far.held() + peering->repairs.withheld();
  for (const Connection& connection : connections) {
    const custody::NearFlow& flow = connection.near;
    frames += connection.dreqs.count() + flow.waiting.packets + flow.early_responses.packets +
              flow.early_acknowledges.packets;
    for (rte_mbuf* mbuf = connection.near.queue.unsent(); mbuf != nullptr; mbuf = custody::held_in(mbuf).next)
      if (!custody::held_in(mbuf).sent) ++frames;
  }
  return frames;
}

// ---- the public face --------------------------------------------------------------------------

Engine::Engine(const Settings& settings, const Pools& pools, Sink& sink, custody::Observer* observer)
    : impl_(std::make_unique<Impl>(settings, pools, sink, observer)) {}
Engine::~Engine() = default;

void Engine::ask_before_learning(std::function<bool(const flow::ConnectionInfo& info, Time now)> may_learn) {
  impl_->may_learn = std::move(may_learn);
}

void Engine::share(Shared& shared) {
  impl_->shared = &shared;
  impl_->contested_requests = &shared.contested_requests.emplace_back();
  impl_->presumed_requests = &shared.presumed_requests;
  impl_->news_read = shared.next_hops.posted();
}
void Engine::receive(Side side, std::span<rte_mbuf* const> frames, Time now) { impl_->receive(side, frames, now); }
void Engine::poll(Time now, Time read_until) { impl_->poll(now, read_until); }
void Engine::set_own_frames(OwnFrames& own) { impl_->own_taker = &own; }
void Engine::join(PeerLink& link, unsigned workers) { impl_->join(link, workers); }
void Engine::peer_up(PeerNumber peer, Duration round_trip, unsigned workers) {
  impl_->peer_up(peer, round_trip, workers);
}
void Engine::peer_gone(PeerNumber peer, Time now) { impl_->peer_gone(peer, now); }
void Engine::peer_said(Speaker peer, relay::To to, relay::Type type, relay::Bytes body, Time now) {
  impl_->peer_said(peer, to, type, body, now);
}
void Engine::paused(Duration lasted, Time now) { impl_->paused(lasted, now); }
Time Engine::next_deadline() const { return impl_->next_deadline(); }
void Engine::use_record(std::span<custody::RecordSlot> record, Time now) { impl_->use_record(record, now); }
void Engine::set_draining(bool draining) { impl_->set_draining(draining); }
bool Engine::draining() const { return impl_->near.draining(); }
bool Engine::knows(const flow::ConnectionInfo& info, Side from) const {
  return impl_->table.holder(info, from).has_value();
}
LinkState Engine::link_state() const {
  const custody::LinkEstimate& link = impl_->near.link();
  return {link.rate_bps(), impl_->pacer.rate_bps(), link.rtt().minimum(), link.queued()};
}
std::uint64_t Engine::custody_packets() const { return impl_->near.budget().held.packets - impl_->near.lent().packets; }
std::uint64_t Engine::custody_bytes() const { return impl_->near.budget().held.bytes - impl_->near.lent().bytes; }
std::uint64_t Engine::far_bytes() const { return impl_->near.lent().bytes; }
std::uint64_t Engine::unconfirmed_bytes() const {
  std::uint64_t bytes = 0;
  for (const Connection& connection : impl_->connections) bytes += custody::NearPart::owed_bytes(connection.near);
  return bytes;
}
std::uint64_t Engine::waiting_frames() const { return impl_->waiting_frames(); }
const Counters& Engine::counters() const { return impl_->counters; }
const metrics::Histogram& Engine::pseudo_ack_delay() const { return impl_->pseudo_ack_delay; }
const metrics::Histogram& Engine::wan_rtt() const { return impl_->near.wan_rtt(); }

std::vector<BusyPair> Engine::take_busy_pairs() {
  const std::span<const BusyPair> pairs = impl_->busy_pairs.pairs();
  std::vector<BusyPair> taken(pairs.begin(), pairs.end());
  impl_->busy_pairs.clear();
  return taken;
}

bool Engine::has_accepted_acks() const { return !impl_->accepted.empty(); }

void Engine::acks_accepted(Time now) {
  for (const auto& [cause, frames] : impl_->accepted) impl_->pseudo_ack_delay.record(now - cause, frames);
  impl_->accepted.clear();
}

}  // namespace longhaul::engine
