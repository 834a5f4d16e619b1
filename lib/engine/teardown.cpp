// SPDX-License-Identifier: BSD-3-Clause
// Connections as RDMA-CM makes and ends them (design section 4, and the held DREQ of section 6).
#include <rte_mbuf.h>

#include "engine/engine_impl.hpp"
#include "wire/cm.hpp"
#include "wire/icrc.hpp"

namespace longhaul::engine {

using custody::Verdict;

namespace {

// A DREQ nobody answered: CM's own retries have ended long before.
constexpr Duration kCloseWait = seconds(60);
// When the table is full, a connection silent for so long and with nothing in custody may go.
constexpr Duration kIdle = seconds(600);
constexpr unsigned kIdleSearch = 64;

std::uint64_t next_serial() {
  static std::uint64_t serial = 0;
  return ++serial;
}

}  // namespace

Verdict Engine::Impl::cm(Side side, const wire::Frame& frame, rte_mbuf* mbuf) {
  const auto message = wire::parse_cm(frame);
  if (!message) return Verdict::forward;
  if (!wire::verify_icrc(frame)) {
    ++counters[Counter::icrc_bad];
    return Verdict::forward;
  }
  ++counters[Counter::cm_messages];
  const flow::CmOutcome outcome = tracker.handle(frame, *message, side, now);
  switch (outcome.event) {
    case flow::CmEvent::none:
      return Verdict::forward;
    case flow::CmEvent::unmatched:
      ++counters[Counter::cm_unmatched];
      return Verdict::forward;
    case flow::CmEvent::table_full:
      ++counters[Counter::cm_table_full];
      return Verdict::forward;
    case flow::CmEvent::learned:
      learn(outcome.info);
      return Verdict::forward;
    case flow::CmEvent::disconnect_requested:
      return disconnect_requested(side, *outcome.connection, mbuf);
    case flow::CmEvent::rejected:
    case flow::CmEvent::disconnected:
      close(*outcome.connection);
      return Verdict::forward;
  }
  return Verdict::forward;
}

void Engine::Impl::learn(const flow::ConnectionInfo& info) {
  // The responder's QPN, announced anew by its owner: whatever it had before, it has forgotten.
  if (const auto old = table.holder(info, Side::host)) close(*old);
  // The requester's QPN, in a connection to another QP: it may be used again, or somebody forged a REQ for it. What is
  // in custody has its responder still and goes on; the newcomer passes through.
  if (const auto old = table.holder(info, Side::wan)) {
    if (!connections[*old].near.queue.empty()) {
      ++counters[Counter::connection_qpn_held];
      return;
    }
    close(*old);
  }
  make_room();
  const auto index = table.insert(info);
  if (!index) {
    ++counters[Counter::connection_table_full];
    return;
  }
  tracker.bind(*index);
  Connection& connection = connections[*index];
  // The backlog and the list of this burst may still name the slot's former tenant; that does no harm.
  const bool in_backlog = connection.near.in_backlog;
  const bool was_touched = connection.touched;
  connection = Connection{};
  connection.near.in_backlog = in_backlog;
  connection.touched = was_touched;
  connection.last_seen = now;

  const flow::End& requester = info.end(Side::host);
  const flow::End& responder = info.end(Side::wan);
  custody::NearFlow& flow = connection.near;
  flow.identity = {next_serial(), requester.ip, responder.ip, requester.qpn, responder.qpn};
  flow.policy = settings.policies.lookup(requester.ip, responder.ip);
  // Without it the PSNs behind a READ cannot be told.
  if (info.path_mtu == 0) flow.policy = flow::Policy::off;
  flow.path_mtu = info.path_mtu;
  near.begin(flow, requester.starting_psn, info.retry_count * info.ack_timeout);
  ++counters[Counter::connections_learned];
  counters[Counter::flows_learned] += 2;
  if (observer != nullptr) observer->on_flow_learned(flow.identity, now);
}

Verdict Engine::Impl::disconnect_requested(Side side, flow::ConnectionIndex index, rte_mbuf* mbuf) {
  Connection& connection = connections[index];
  connection.close_deadline = now + kCloseWait;
  if (side == Side::wan) {
    // Whoever closes there will answer nothing more.
    out(Side::wan).flush();
    near.end(connection.near, now);
    if (connection.held_dreq != nullptr) ++counters[Counter::dreqs_released_late];
    release_dreq(index);
    schedule(index);
    return Verdict::forward;
  }
  if (connection.held_dreq != nullptr) {
    ++counters[Counter::absorbed_dreqs];
    return Verdict::drop;
  }
  schedule(index);
  // Held once: CM repeats what it got no answer to, and the repeat goes after the first.
  if (connection.dreq_was_held || connection.near.queue.empty()) return Verdict::forward;
  // The requester's host has put its QP into error: nothing more comes, and what is in custody must arrive first.
  ++counters[Counter::dreqs_held];
  rte_mbuf_refcnt_update(mbuf, 1);
  connection.held_dreq = mbuf;
  connection.dreq_was_held = true;
  connection.dreq_deadline = now + settings.dreq_hold;
  schedule(index);
  return Verdict::taken;
}

void Engine::Impl::release_dreq(flow::ConnectionIndex index) {
  Connection& connection = connections[index];
  if (connection.held_dreq == nullptr) return;
  forward(Side::wan, connection.held_dreq);
  connection.held_dreq = nullptr;
  connection.dreq_deadline = kNever;
}

void Engine::Impl::close(flow::ConnectionIndex index) {
  if (!table.in_use(index)) return;
  Connection& connection = connections[index];
  // Frames of the flow in the burst point at it.
  out(Side::wan).flush();
  if (connection.held_dreq != nullptr) ++counters[Counter::dreqs_released_late];
  release_dreq(index);
  near.end(connection.near, now);
  connection.close_deadline = kNever;
  timers.set(index, kNever);
  tracker.forget(index);
  table.release(index);
  ++counters[Counter::connections_closed];
}

void Engine::Impl::make_room() {
  if (table.has_room()) return;
  for (unsigned i = 0; i < kIdleSearch; ++i) {
    const flow::ConnectionIndex index = clock_hand;
    clock_hand = (clock_hand + 1) % table.capacity();
    const Connection& connection = connections[index];
    if (table.in_use(index) && now - connection.last_seen > kIdle && connection.near.queue.empty()) {
      close(index);
      return;
    }
  }
}

}  // namespace longhaul::engine
