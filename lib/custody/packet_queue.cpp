// SPDX-License-Identifier: BSD-3-Clause
#include "custody/packet_queue.hpp"

#include <initializer_list>

#include "wire/psn.hpp"

namespace longhaul::custody {

rte_mbuf* PacketQueue::find(std::uint32_t psn) {
  rte_mbuf* start = head_;
  for (rte_mbuf* hint : {found_, to_acknowledge_}) {
    if (hint == nullptr || wire::psn_lt(psn, held_in(hint).psn)) continue;
    start = hint;
    break;
  }
  for (rte_mbuf* mbuf = start; mbuf != nullptr; mbuf = held_in(mbuf).next) {
    const Held& held = held_in(mbuf);
    if (wire::psn_lt(psn, held.psn)) return nullptr;
    if (wire::psn_le(psn, held.last_psn)) return found_ = mbuf;
  }
  return nullptr;
}

void PacketQueue::skip_to(std::uint32_t psn) {
  while (unsent_ != nullptr && wire::psn_lt(held_in(unsent_).psn, psn)) mark_sent();
}

rte_mbuf* PacketQueue::cut_after(const rte_mbuf* last) {
  rte_mbuf* rest = last == nullptr ? head_ : held_in(last).next;
  if (rest == nullptr) return nullptr;
  for (rte_mbuf* mbuf = rest; mbuf != nullptr; mbuf = held_in(mbuf).next) {
    if (unsent_ == mbuf) unsent_ = nullptr;
    if (to_acknowledge_ == mbuf) to_acknowledge_ = nullptr;
    if (first_read_ == mbuf) first_read_ = nullptr;
    --packets_;
    bytes_ -= mbuf->pkt_len;
  }
  found_ = nullptr;
  tail_ = const_cast<rte_mbuf*>(last);
  if (last == nullptr)
    head_ = nullptr;
  else
    held_in(tail_).next = nullptr;
  return rest;
}

void PacketQueue::rewind_to(rte_mbuf* mbuf) {
  for (const rte_mbuf* sent = mbuf; sent != unsent_; sent = held_in(sent).next) --under_way_;
  unsent_ = mbuf;
}

void PacketQueue::seek_first_read(rte_mbuf* from) {
  while (from != nullptr && !held_in(from).wants_response) from = held_in(from).next;
  first_read_ = from;
}

}  // namespace longhaul::custody
