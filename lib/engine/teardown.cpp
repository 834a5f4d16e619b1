// SPDX-License-Identifier: BSD-3-Clause
// How connections end, and the DREQ that waits for custody (design section 6).
#include <rte_mbuf.h>

#include "custody/buffers.hpp"
#include "engine/engine_impl.hpp"
#include "flow/lifetimes.hpp"
#include "wire/cm.hpp"

namespace longhaul::engine {

using custody::Verdict;

// The connection learned from traffic that a DREQ of no known exchange names by its receiver's QPN.
std::optional<flow::ConnectionIndex> Engine::Impl::disconnecting(Side side, const wire::Frame& frame,
                                                                 const wire::CmMessage& message) const {
  if (message.attribute != wire::CmAttribute::dreq) return std::nullopt;
  const auto index = table.find(side, frame, message.remote_qpn);
  return index && connections[*index].from_traffic ? index : std::nullopt;
}

Verdict Engine::Impl::disconnect_requested(Side side, flow::ConnectionIndex index, const wire::CmMessage& message,
                                           rte_mbuf* mbuf) {
  Connection& connection = connections[index];
  connection.close_deadline = now + flow::kCloseWait;
  if (side == Side::wan && connection.from_traffic) {
    // Without communication IDs anybody could have sent the DREQ: custody goes on, and ends by answers or by give_up.
    schedule(index);
    return Verdict::forward;
  }
  if (side == Side::wan) {
    // A far end that closes answers nothing more.
    out(Side::wan).flush();
    near.end(connection.near, now);
    release_dreqs(index, kNever);
    schedule(index);
    return Verdict::forward;
  }
  const std::uint32_t sender = message.local_comm_id;
  const bool at_once = connection.near.queue.empty() || connection.dreqs.was_released(sender);
  schedule(index);
  if (at_once && !connection.dreqs.waits(sender)) return Verdict::forward;
  // The requester's host has put its QP into error: nothing more comes, and what is in custody must arrive first. CM
  // repeats a DREQ that finds no place, and the flood that filled the places has gone by then.
  if (connection.dreqs.waits(sender) || !hold_dreq(connection, sender, mbuf)) {
    ++counters[Counter::absorbed_dreqs];
    return Verdict::drop;
  }
  ++counters[Counter::dreqs_held];
  schedule(index);
  return Verdict::taken;
}

bool Engine::Impl::hold_dreq(Connection& connection, std::uint32_t sender, const rte_mbuf* mbuf) {
  if (connection.dreqs.full() || !held_dreqs.take(connection.pair)) return false;
  rte_mbuf* copy = custody::copy_into(dreq_pool, mbuf);
  if (copy == nullptr) {
    held_dreqs.give_back(connection.pair);
    return false;
  }
  connection.dreqs.add(copy, sender, now + settings.dreq_hold);
  return true;
}

// Forwards the DREQs whose time has come by `due`, whatever is in custody.
void Engine::Impl::release_dreqs(flow::ConnectionIndex index, Time due) {
  Connection& connection = connections[index];
  if (connection.dreqs.empty() || connection.dreqs.deadline() > due) return;
  if (!connection.near.queue.empty() || connection.near.phase == custody::Phase::ended)
    ++counters[Counter::dreqs_released_late];
  while (!connection.dreqs.empty() && connection.dreqs.deadline() <= due) {
    forward(Side::wan, connection.dreqs.pop());
    held_dreqs.give_back(connection.pair);
  }
}

// A REP of the same exchange, or traffic, has shown that the QPs live another life. A DREQ that waits for custody
// belongs to the life before, and would end this one at the far end or in the far box. CM repeats a DREQ that is still
// meant.
void Engine::Impl::void_dreqs(flow::ConnectionIndex index) {
  Connection& connection = connections[index];
  const unsigned discarded = connection.dreqs.discard();
  held_dreqs.give_back(connection.pair, discarded);
  counters[Counter::absorbed_dreqs] += discarded;
}

// Nobody answered a DREQ for a minute.
void Engine::Impl::close_silent(flow::ConnectionIndex index) {
  Connection& connection = connections[index];
  // Its QPs may have begun another life meanwhile, unannounced.
  if (now - connection.last_seen < flow::kCloseWait && connection.near.owes()) {
    connection.close_deadline = now + flow::kCloseWait;
    return;
  }
  // A DREQ for a connection learned from traffic proves little: if the connection has gone on, the DREQ was not meant
  // for it. A failed flow waits for its requester.
  const bool waits = connection.near.phase == custody::Phase::failed && !connection.near.failure.told;
  if (connection.from_traffic &&
      (now - connection.last_seen < flow::kCloseWait || !connection.near.queue.empty() || waits)) {
    connection.close_deadline = kNever;
    return;
  }
  close(index);
}

void Engine::Impl::close(flow::ConnectionIndex index) {
  if (!table.in_use(index)) return;
  Connection& connection = connections[index];
  // Frames in the burst point at the flow.
  out(Side::wan).flush();
  release_dreqs(index, kNever);
  if (peering != nullptr) end_pairing(index);
  near.end(connection.near, now);
  out(Side::host).drop_made_for(connection.near);
  connection.close_deadline = kNever;
  set_timer(index, kNever);
  tracker.forget(index);
  next_hops.release(connection.pair);
  connection.pair = NextHops::kNone;
  table.release(index);
  ++counters[Counter::connections_closed];
}

// A requester that knows of its failure says no more on this QP; its DREQ may never come this way.
void Engine::Impl::close_when_told(Connection& connection) const {
  const custody::NearFlow& flow = connection.near;
  if (flow.phase == custody::Phase::failed && flow.failure.told && connection.close_deadline == kNever)
    connection.close_deadline = now + flow::kCloseWait;
}

}  // namespace longhaul::engine
