// SPDX-License-Identifier: BSD-3-Clause
// A pair of boxes (docs/peer-protocol.md, section 9): frames and messages between the engine's parts and its peers'.
#include "engine/peering.hpp"

#include "engine/engine_impl.hpp"
#include "flow/connection_key.hpp"

namespace longhaul::engine {

using custody::Verdict;

void Engine::Impl::join(PeerLink& link, unsigned workers) {
  peering.reset(new Peering(near, counters, settings.max_connections, *this, link, workers));
}

// ---- frames -------------------------------------------------------------------------------------

// A request from the WAN. False: it is no bound flow's, and passes.
bool Engine::Impl::far_request(const Arrival& arrival) {
  const wire::Frame& frame = arrival.frame;
  const std::uint32_t flow = peering->far.find(flow::key_of(frame));
  if (flow == relay::FarPart::kNone || !intact(frame)) return false;
  switch (peering->far.request(flow, frame, arrival.mbuf, now)) {
    case relay::FarPart::Verdict::forward:
      forward(Side::host, arrival.mbuf);
      peering->far.forwarded(flow, now);
      return true;
    case relay::FarPart::Verdict::held:
    case relay::FarPart::Verdict::drop:
      near.absorbed(arrival.mbuf);
      return true;
  }
  return false;
}

// An answer of our host's, on its way to the WAN. False: it passes.
bool Engine::Impl::far_answer(const Arrival& arrival) {
  const wire::Frame& frame = arrival.frame;
  const std::uint32_t flow = peering->copies.find(flow::key_of(frame));
  if (flow == relay::AnswerCopies::kNone || !intact(frame)) return false;
  peering->copies.answer(flow, frame, arrival.mbuf, now);
  if (!peering->far.answer(flow, frame, now)) return false;
  near.absorbed(arrival.mbuf);
  return true;
}

// What becomes of a request of a contested flow: the far box must hear before it that another life may have begun.
Verdict Engine::Impl::before_peer(custody::NearFlow& flow, rte_mbuf* mbuf, Verdict verdict) {
  peering->repairs.tend(flow, now);
  if (verdict != Verdict::forward || !flow.pairing.waits(now)) return verdict;
  if (peering->repairs.withhold(flow, mbuf)) return Verdict::sent;
  ++counters[Counter::dropped_for_peer];
  return Verdict::drop;
}

// Of the connection's two flows.
void Engine::Impl::end_pairing(flow::ConnectionIndex index) {
  peering->repairs.forget(connections[index].near, now);
  peering->far.another_life(flow::key_of(table[index], Side::wan), now);
}

// The box has stood still. What it holds for, or because of, its peer may be of lives that have ended meanwhile.
void Engine::Impl::drop_held(Time time) {
  begin_call(time);
  peering->far.drop_all(now);
  peering->repairs.drop_all();
  for (flow::ConnectionIndex index = 0; index < connections.size(); ++index)
    if (table.in_use(index)) near.drop_long_waiting(connections[index].near);
  end_of_burst();
}

// ---- messages -----------------------------------------------------------------------------------

void Engine::Impl::peer_said(Speaker peer, relay::To to, relay::Type type, relay::Bytes body, Time time) {
  if (peering == nullptr || bypass) return;
  begin_call(time);
  switch (type) {
    case relay::Type::bind:
      peering->far.bind(peer, body, now);
      break;
    case relay::Type::unbind:
      peering->far.unbind(peer, body, now);
      break;
    case relay::Type::clock:
      peering->far.clock(peer, to, body, now);
      break;
    case relay::Type::state:
      peering->repairs.state(peer, body, now);
      break;
    case relay::Type::answer_clock:
      peering->order.clock(peer, body, now);
      break;
    case relay::Type::answer_state:
      peering->copies.state(peer, body, now);
      break;
  }
  end_of_burst();
}

void Engine::Impl::peer_up(PeerNumber peer, Duration round_trip, unsigned workers) {
  if (peering == nullptr) return;
  peering->repairs.peer_up(peer, round_trip, workers);
  const Duration spacing = relay::spacing_of(peering->workers * workers);
  for (unsigned worker = 0; worker < workers; ++worker) {
    const Speaker speaker = speaker_of(peer, worker);
    peering->far.set_round_trip(speaker, round_trip, spacing);
    peering->order.set_round_trip(speaker, round_trip, spacing);
    peering->copies.set_round_trip(speaker, round_trip, spacing);
  }
}

void Engine::Impl::peer_gone(PeerNumber peer, Time time) {
  if (peering == nullptr) return;
  begin_call(time);
  peering->repairs.peer_gone(peer);
  peering->far.forget(peer, now);
  peering->order.forget(peer);
  peering->copies.forget(peer);
  end_of_burst();
}

Time Engine::Impl::peering_deadline() const {
  if (peering == nullptr) return kNever;
  const Time far = std::min(peering->far.deadline(), peering->copies.deadline());
  return std::min(peering->repairs.deadline(), far > now ? far : now + 1);
}

// ---- what the two parts need ----------------------------------------------------------------------

void Engine::Impl::hand_on(rte_mbuf* mbuf) { forward(Side::host, mbuf); }

void Engine::Impl::send_to_host(rte_mbuf* mbuf) { out(Side::host).send_own(mbuf); }

void Engine::Impl::hand_on_to_wan(rte_mbuf* mbuf) { forward(Side::wan, mbuf); }

// A frame that nobody has sent just now.
void Engine::Impl::send_to_wan(rte_mbuf* mbuf) {
  pacer.charge(mbuf->pkt_len);
  out(Side::wan).send_own(mbuf);
}

rte_mbuf* Engine::Impl::made_frame(std::uint16_t bytes) { return near.made_frame(bytes); }

std::uint32_t Engine::Impl::repeated_responses(Speaker peer) const { return near.repeated_responses(peer); }

bool Engine::Impl::hold(const rte_mbuf* mbuf) { return near.lend(mbuf->pkt_len); }

void Engine::Impl::let_go(const rte_mbuf* mbuf) { near.take_back(mbuf->pkt_len); }

custody::NearFlow* Engine::Impl::flow_of(std::uint32_t handle) {
  return handle < connections.size() && table.in_use(handle) ? &connections[handle].near : nullptr;
}

flow::KeyIndex::Key Engine::Impl::key_of(const custody::NearFlow& flow) const {
  return flow::key_of(table[flow.connection], Side::host).copy();
}

void Engine::Impl::send(Speaker to, relay::Type type, relay::Bytes body) { peering->link.send(to, type, body); }

}  // namespace longhaul::engine
