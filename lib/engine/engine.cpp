// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.hpp"

#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "engine/engine_impl.hpp"
#include "wire/cm.hpp"
#include "wire/icrc.hpp"

namespace longhaul::engine {

using custody::Verdict;

namespace {

// A port that refused a frame is asked again after this.
constexpr Duration kRetry = microseconds(20);

// Pseudo-ACKs whose delay is recorded together: more than any burst causes.
constexpr std::size_t kMaxAccepted = 8192;

std::string unique_name(const std::string& what) {
  static std::atomic<unsigned> serial{0};
  return "lh_" + what + "_" + std::to_string(serial++);
}

custody::NearSettings near_settings(const Settings& settings) {
  custody::NearSettings near;
  near.confirm_by_cm = settings.confirm == Confirm::cm;
  near.initial_window_bytes = settings.initial_window_bytes;
  near.rto_initial = settings.rto_initial;
  near.rto_min = settings.rto_min;
  near.rto_max = settings.rto_max;
  near.give_up = settings.give_up;
  return near;
}

custody::Budget budget_of(const Settings& settings) {
  custody::Budget budget;
  budget.box_bytes_limit = settings.custody_box_bytes;
  budget.flow_bytes_limit = settings.custody_flow_bytes;
  budget.large_mbufs_limit = settings.custody_mbufs;
  return budget;
}

custody::SmallPools small_pools(const Pools& pools) { return {pools.small, Pools::kSmallBytes, pools.frames}; }

// The first lines; the processor's own prefetcher goes on from there.
void prefetch_bytes(const rte_mbuf* mbuf) {
  constexpr std::uint32_t kBytes = 10 * RTE_CACHE_LINE_SIZE;
  const char* bytes = rte_pktmbuf_mtod(mbuf, const char*);
  const std::uint32_t end = std::min<std::uint32_t>(mbuf->data_len, kBytes);
  for (std::uint32_t offset = 0; offset < end; offset += RTE_CACHE_LINE_SIZE) rte_prefetch0(bytes + offset);
}

bool congestion_experienced(const wire::Frame& frame) {
  const std::uint8_t traffic_class =
      frame.ipv6
          ? static_cast<std::uint8_t>((frame.data[frame.ip_offset] << 4) | (frame.data[frame.ip_offset + 1] >> 4))
          : frame.data[frame.ip_offset + 1];
  return (traffic_class & 0x3) == 0x3;
}

// The ICRC leaves out what routers change. A frame damaged there would be resent damaged from custody for ever, so the
// checksums that its receiver looks at count too.
bool header_checksums_good(const wire::Frame& frame) {
  if (!wire::verify_ipv4_checksum(frame)) return false;
  const auto& udp = *reinterpret_cast<const wire::UdpHeader*>(frame.data + frame.udp_offset);
  if (udp.checksum == 0) return true;  // as RoCEv2 sends it
  const void* ip = frame.data + frame.ip_offset;
  // Over a datagram that includes its right checksum these give 0, written as UDP writes it.
  constexpr std::uint16_t kGood = 0xffff;
  return kGood == (frame.ipv6 ? rte_ipv6_udptcp_cksum(static_cast<const rte_ipv6_hdr*>(ip), &udp)
                              : rte_ipv4_udptcp_cksum(static_cast<const rte_ipv4_hdr*>(ip), &udp));
}

}  // namespace

Engine::Impl::Impl(const Settings& given, const Pools& pools, Sink& sink, custody::Observer* watcher)
    : settings(given),
      observer(watcher),
      egress{Egress(Side::host, sink, *this), Egress(Side::wan, sink, *this)},
      pacer(given.wan_rate_bps),
      near(near_settings(given), budget_of(given), small_pools(pools), counters, *this, watcher),
      table(given.max_connections, unique_name("conn")),
      tracker(given.max_pending_cm),
      learner(given.max_candidates, unique_name("cand")),
      connections(given.max_connections),
      timers(given.max_connections) {
  touched.reserve(given.max_connections);
  accepted.reserve(kMaxAccepted);
}

Engine::Impl::~Impl() {
  for (Egress& way : egress) way.discard();
  for (Connection& connection : connections) {
    near.discard(connection.near);
    while (!connection.dreqs.empty()) rte_pktmbuf_free(connection.dreqs.pop());
  }
}

// ---- frames -----------------------------------------------------------------------------------

void Engine::Impl::receive(Side side, std::span<rte_mbuf* const> frames, Time time) {
  now = time;
  learner.began(now);
  wan_full = false;
  // The mbuf first, then the bytes it points to: the ICRC reads all of them.
  constexpr std::size_t kMbufsAhead = 8;
  constexpr std::size_t kAhead = 3;
  for (std::size_t i = 0; i < std::min(frames.size(), kMbufsAhead); ++i) rte_prefetch0(frames[i]);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i + kMbufsAhead < frames.size()) rte_prefetch0(frames[i + kMbufsAhead]);
    if (i + kAhead < frames.size()) prefetch_bytes(frames[i + kAhead]);
    frame(side, frames[i]);
  }
  end_of_burst();
}

void Engine::Impl::frame(Side side, rte_mbuf* mbuf) {
  ++counters[side == Side::host ? Counter::frames_host : Counter::frames_wan];
  counters[side == Side::host ? Counter::bytes_host : Counter::bytes_wan] += mbuf->pkt_len;
  if (mbuf->nb_segs != 1) {
    ++counters[Counter::mbuf_chained];
    forward(other(side), mbuf);
    return;
  }
  wire::Frame parsed;
  const wire::ParseStatus status = wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, parsed);
  ++counters.parsed[static_cast<std::size_t>(status)];
  Verdict verdict = Verdict::forward;
  if (status == wire::ParseStatus::roce || status == wire::ParseStatus::unknown_opcode)
    verdict = roce(side, parsed, mbuf);
  if (verdict == Verdict::forward)
    forward(other(side), mbuf);
  else
    rte_pktmbuf_free(mbuf);
}

Verdict Engine::Impl::roce(Side side, const wire::Frame& frame, rte_mbuf* mbuf) {
  constexpr unsigned kServiceShift = 5;
  if (frame.opcode == nullptr)
    return frame.bth().opcode >> kServiceShift == 0 ? rc(side, frame, mbuf) : Verdict::forward;
  switch (frame.opcode->service) {
    case wire::Service::rc:
      return rc(side, frame, mbuf);
    case wire::Service::ud:
      if (frame.destination_qpn() == wire::kGsiQpn) return cm(side, frame, mbuf);
      ++counters[Counter::unreliable];
      return Verdict::forward;
    case wire::Service::uc:
      ++counters[Counter::unreliable];
      return Verdict::forward;
    case wire::Service::cnp:
      ++counters[Counter::cnps];
      if (side == Side::wan)
        if (const auto index = table.find(side, frame); index && intact(frame)) {
          near.congestion(connections[*index].near, now);
          touch(*index);
        }
      return Verdict::forward;
    case wire::Service::rd:
    case wire::Service::other:
      return Verdict::forward;
  }
  return Verdict::forward;
}

Verdict Engine::Impl::rc(Side side, const wire::Frame& frame, rte_mbuf* mbuf) {
  const bool is_answer = frame.opcode != nullptr && frame.opcode->is_response();
  const auto index = table.find(side, frame);
  if (!index) {
    ++counters[is_answer ? Counter::responses_unlearned : Counter::requests_unlearned];
    learn_from_traffic(side, frame);
    return Verdict::forward;
  }
  Connection& connection = connections[*index];
  connection.last_seen = now;
  if (congestion_experienced(frame)) ++counters[Counter::ecn_marked];

  // Requests of the far end, and our host's answers to them, are the other box's near flow.
  const bool of_near_flow = (side == Side::host) != is_answer;
  if (!of_near_flow) return Verdict::forward;
  if (connection.near.policy != flow::Policy::off && !intact(frame)) return Verdict::forward;
  if (!custody::NearPart::plausible(connection.near, frame.psn())) {
    ++counters[is_answer ? Counter::answers_implausible : Counter::requests_implausible];
    if (is_answer) ++counters[Counter::answers_forwarded];
    learn_from_traffic(side, frame);
    return Verdict::forward;
  }
  Verdict verdict = Verdict::forward;
  if (side == Side::host) {
    verdict = near.request(connection.near, frame, mbuf, now);
  } else {
    // An answer may release what waits in the burst: that must be out before.
    out(Side::wan).flush();
    verdict = near.answer(connection.near, frame, now);
  }
  touch(*index);
  return verdict;
}

bool Engine::Impl::intact(const wire::Frame& frame) {
  if (!wire::verify_icrc(frame)) {
    ++counters[Counter::icrc_bad];
    return false;
  }
  if (!header_checksums_good(frame)) {
    ++counters[Counter::header_checksum_bad];
    return false;
  }
  return true;
}

void Engine::Impl::forward(Side to, rte_mbuf* mbuf) {
  if (to == Side::wan) pacer.charge(mbuf->pkt_len, now);
  out(to).forward(mbuf);
}

// ---- the end of each call ---------------------------------------------------------------------

void Engine::Impl::touch(flow::ConnectionIndex index) {
  if (connections[index].touched) return;
  connections[index].touched = true;
  touched.push_back(index);
}

void Engine::Impl::end_of_burst() {
  service_backlog();
  // The WAN first: a request is acknowledged once its port has accepted it.
  out(Side::wan).flush();
  // An answer forwarded to the requester goes before what it made possible; both leave through the same egress, in
  // order.
  for (std::size_t i = 0; i < touched.size(); ++i) {
    const flow::ConnectionIndex index = touched[i];
    Connection& connection = connections[index];
    connection.touched = false;
    near.acknowledge(connection.near, now);
    close_when_told(connection);
    if (connection.near.queue.empty()) release_dreqs(index, kNever);
    schedule(index);
  }
  touched.clear();
  out(Side::host).flush();
  out(Side::wan).flush();
}

void Engine::Impl::service_backlog() {
  for (std::size_t turns = backlog.size(); turns > 0 && may_send(); --turns) {
    const flow::ConnectionIndex index = backlog.front();
    backlog.pop_front();
    Connection& connection = connections[index];
    connection.near.in_backlog = false;
    near.try_send(connection.near, now);
    touch(index);
  }
}

void Engine::Impl::schedule(flow::ConnectionIndex index) {
  const Connection& connection = connections[index];
  const Time deadline = std::min({connection.near.deadline, connection.dreqs.deadline(), connection.close_deadline});
  // Deadlines mostly move away: the heap hears of it when the old one comes.
  if (deadline < timers.deadline(index)) timers.set(index, deadline);
}

// ---- time -------------------------------------------------------------------------------------

void Engine::Impl::poll(Time time, bool answers_waiting) {
  now = time;
  learner.began(now);
  wan_full = false;
  run_timers(answers_waiting ? now - std::min(now, kTimerPatience) : now);
  end_of_burst();
}

void Engine::Impl::run_timers(Time due) {
  while (timers.earliest() <= due) {
    const flow::ConnectionIndex index = timers.first();
    timers.set(index, kNever);
    Connection& connection = connections[index];
    if (connection.near.deadline <= now) {
      near.on_timer(connection.near, now);
      touch(index);
    }
    release_dreqs(index, now);
    if (connection.close_deadline <= now) close_silent(index);
    if (!table.in_use(index)) continue;
    schedule(index);
    // A flow that wants to be looked at again at once must not hold up the others.
    if (timers.deadline(index) <= now) timers.set(index, now + kRetry);
  }
}

Time Engine::Impl::next_deadline() const {
  Time deadline = timers.earliest();
  if (egress[0].has_refused() || egress[1].has_refused()) deadline = std::min(deadline, now + kRetry);
  if (!backlog.empty()) deadline = std::min(deadline, wan_full ? now + kRetry : std::max(pacer.ready_at(), now));
  return deadline;
}

// ---- what the near part and the ports say ---------------------------------------------------------

flow::ConnectionIndex Engine::Impl::index_of(const custody::NearFlow& flow) const {
  const auto* connection =
      reinterpret_cast<const Connection*>(reinterpret_cast<const char*>(&flow) - offsetof(Connection, near));
  return static_cast<flow::ConnectionIndex>(connection - connections.data());
}

void Engine::Impl::send_held(custody::NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) {
  pacer.charge(frame->pkt_len, now);
  out(Side::wan).send_held(flow, held, frame);
}

void Engine::Impl::wait_to_send(custody::NearFlow& flow) {
  if (flow.in_backlog) return;
  flow.in_backlog = true;
  backlog.push_back(index_of(flow));
}

void Engine::Impl::held_sent(custody::NearFlow& flow, rte_mbuf* held) {
  near.on_sent(flow, held, now);
  touch(index_of(flow));
}

void Engine::Impl::held_refused(custody::NearFlow& flow, rte_mbuf* held) {
  wan_full = true;
  near.on_refused(flow, held);
}

void Engine::Impl::forwarded(Side to) {
  ++counters[to == Side::host ? Counter::forwarded_host : Counter::forwarded_wan];
}

void Engine::Impl::made_sent(Time cause) {
  if (cause != kNever && accepted.size() < accepted.capacity()) accepted.push_back(cause);
}

void Engine::Impl::dropped(Side, bool made) {
  ++counters[made ? Counter::made_frames_lost : Counter::dropped_port_full];
}

std::uint64_t Engine::Impl::waiting_frames() const {
  std::uint64_t frames = egress[0].waiting() + egress[1].waiting();
  for (const Connection& connection : connections) {
    frames += connection.dreqs.count();
    for (rte_mbuf* mbuf = connection.near.queue.unsent(); mbuf != nullptr; mbuf = custody::held_in(mbuf).next)
      if (!custody::held_in(mbuf).sent) ++frames;
  }
  return frames;
}

// ---- the public face --------------------------------------------------------------------------

Engine::Engine(const Settings& settings, const Pools& pools, Sink& sink, custody::Observer* observer)
    : impl_(std::make_unique<Impl>(settings, pools, sink, observer)) {}
Engine::~Engine() = default;

void Engine::receive(Side side, std::span<rte_mbuf* const> frames, Time now) { impl_->receive(side, frames, now); }
void Engine::poll(Time now, bool answers_waiting) { impl_->poll(now, answers_waiting); }
Time Engine::next_deadline() const { return impl_->next_deadline(); }
void Engine::use_record(std::span<custody::RecordSlot> record, Time now) { impl_->use_record(record, now); }
void Engine::set_draining(bool draining) { impl_->near.set_draining(draining); }
std::uint64_t Engine::custody_packets() const { return impl_->near.budget().packets; }
std::uint64_t Engine::custody_bytes() const { return impl_->near.budget().bytes; }
std::uint64_t Engine::unconfirmed_bytes() const {
  std::uint64_t bytes = 0;
  for (const Connection& connection : impl_->connections) bytes += custody::NearPart::owed_bytes(connection.near);
  return bytes;
}
std::uint64_t Engine::waiting_frames() const { return impl_->waiting_frames(); }
const Counters& Engine::counters() const { return impl_->counters; }
const metrics::Histogram& Engine::pseudo_ack_delay() const { return impl_->pseudo_ack_delay; }
const metrics::Histogram& Engine::wan_rtt() const { return impl_->near.wan_rtt(); }

bool Engine::has_accepted_acks() const { return !impl_->accepted.empty(); }

void Engine::acks_accepted(Time now) {
  for (const Time cause : impl_->accepted) impl_->pseudo_ack_delay.record(now - cause);
  impl_->accepted.clear();
}

}  // namespace longhaul::engine
