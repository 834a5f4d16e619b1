// SPDX-License-Identifier: BSD-3-Clause
// What the peer of a bound flow misses is sent again from custody, packet by packet (docs/peer-protocol.md, section 9).
// The rest of the flow goes on: nothing is rewound, and nothing is released.
#include <rte_mbuf.h>

#include <algorithm>

#include "custody/near_part.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_lt;

bool NearPart::repair(NearFlow& flow, std::uint32_t psn, std::uint32_t count, Time before,
                      std::vector<std::uint32_t>& repaired, Time now) {
  const std::uint32_t end = psn_add(psn, count);
  const rte_mbuf* head = flow.queue.head();
  const std::uint32_t lowest = head == nullptr ? flow.tail : held_in(head).psn;
  const bool below = psn_lt(psn, lowest);
  const bool beyond = psn_lt(flow.tail, flow.sent_top) && psn_lt(flow.tail, end) && psn_lt(psn, flow.sent_top);
  if (head == nullptr) return !below && !beyond;
  // A report that comes before a round trip has passed cannot know, whatever it says.
  const Time earliest = std::min(before, now - std::min(now, flow.rtt.minimum()));
  for (rte_mbuf* mbuf = find(flow, below ? lowest : psn); mbuf != nullptr; mbuf = held_in(mbuf).next) {
    const Held& held = held_in(mbuf);
    // From `unsent` on packets go in their turn.
    if (!psn_lt(held.psn, end) || mbuf == flow.queue.unsent() || !outlet_.takes()) break;
    if (!held.sent || held.sent_at >= earliest || held.repairing) continue;
    repaired.push_back(held.psn);
    send_repair(flow, mbuf);
  }
  return !below && !beyond;
}

bool NearPart::send_copy(NearFlow& flow, std::uint32_t psn) {
  if (flow.queue.empty() || psn_lt(psn, flow.una) || !outlet_.takes()) return false;
  rte_mbuf* mbuf = find(flow, psn);
  if (mbuf == nullptr || held_in(mbuf).psn != psn || !held_in(mbuf).sent) return false;
  if (held_in(mbuf).wants_response) return false;  // its responder would execute each copy
  send_repair(flow, mbuf);
  return true;
}

void NearPart::send_repair(NearFlow& flow, rte_mbuf* mbuf) {
  rte_mbuf* frame = to_next_hop(flow, mbuf, nullptr);
  if (frame == nullptr) {
    frame = mbuf;
    rte_mbuf_refcnt_update(mbuf, 1);
  }
  held_in(mbuf).repairing = true;
  outlet_.send_held(flow, mbuf, frame);
}

// Where the peer puts packets in order, a loss does not make its responder discard what follows.
void NearPart::note_loss(NearFlow& flow) {
  if (!flow.pairing.bound) flow.loss_window.on_loss();
}

bool NearPart::lend(std::uint64_t bytes) {
  if (budget_.held.bytes + bytes > budget_.box_bytes_limit || budget_.held.large_mbufs >= budget_.large_mbufs_limit)
    return false;
  lent_.add(bytes, false);
  budget_.held.add(bytes, false);
  return true;
}

}  // namespace longhaul::custody
