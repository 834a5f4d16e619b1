// SPDX-License-Identifier: BSD-3-Clause
// How connections end, and the DREQ that waits for custody (design section 6).
#include <rte_mbuf.h>

#include "engine/engine_impl.hpp"
#include "wire/cm.hpp"

namespace longhaul::engine {

using custody::Verdict;

namespace {

// A DREQ nobody answered: CM's own retries have ended long before.
constexpr Duration kCloseWait = seconds(60);

}  // namespace

// The connection that a DREQ of no known exchange names by its receiver's QPN: one that was learned from traffic.
std::optional<flow::ConnectionIndex> Engine::Impl::disconnecting(Side side, const wire::Frame& frame,
                                                                 const wire::CmMessage& message) const {
  if (message.attribute != wire::CmAttribute::dreq) return std::nullopt;
  const auto index = table.find(side, frame, message.remote_qpn);
  return index && connections[*index].from_traffic ? index : std::nullopt;
}

Verdict Engine::Impl::disconnect_requested(Side side, flow::ConnectionIndex index, rte_mbuf* mbuf) {
  Connection& connection = connections[index];
  connection.close_deadline = now + kCloseWait;
  if (side == Side::wan && connection.from_traffic) {
    // Without communication IDs anybody could have sent it: custody goes on, and ends by answers or by give_up.
    schedule(index);
    return Verdict::forward;
  }
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

// Nobody answered a DREQ for a minute.
void Engine::Impl::close_silent(flow::ConnectionIndex index) {
  Connection& connection = connections[index];
  // A DREQ for a connection learned from traffic proves little: if the connection has gone on, it was nothing.
  if (connection.from_traffic && (now - connection.last_seen < kCloseWait || !connection.near.queue.empty())) {
    connection.close_deadline = kNever;
    connection.dreq_was_held = false;
    return;
  }
  close(index);
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

// A requester that knows of its failure says no more on this QP; its DREQ may never come this way.
void Engine::Impl::close_when_told(Connection& connection) const {
  const custody::NearFlow& flow = connection.near;
  if (flow.phase == custody::Phase::failed && flow.told && connection.close_deadline == kNever)
    connection.close_deadline = now + kCloseWait;
}

}  // namespace longhaul::engine
