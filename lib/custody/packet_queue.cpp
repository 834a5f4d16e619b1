// SPDX-License-Identifier: BSD-3-Clause
#include "custody/packet_queue.hpp"

#include <rte_prefetch.h>

#include <initializer_list>

#include "wire/psn.hpp"

namespace longhaul::custody {

void PacketQueue::append(rte_mbuf* mbuf) {
  Held& held = held_in(mbuf);
  held.next = nullptr;
  if (tail_ != nullptr)
    held_in(tail_).next = mbuf;
  else
    head_ = mbuf;
  tail_ = mbuf;
  if (unsent_ == nullptr) unsent_ = mbuf;
  if (to_acknowledge_ == nullptr) to_acknowledge_ = mbuf;
  if (first_read_ == nullptr && held.wants_response) first_read_ = mbuf;
  ++packets_;
  bytes_ += mbuf->pkt_len;
  if (!held.small) ++large_mbufs_;
}

rte_mbuf* PacketQueue::pop() {
  rte_mbuf* mbuf = head_;
  const Held& held = held_in(mbuf);
  head_ = held.next;
  if (head_ == nullptr) tail_ = nullptr;
  if (unsent_ == mbuf)
    unsent_ = held.next;
  else
    --under_way_;
  if (to_acknowledge_ == mbuf) to_acknowledge_ = held.next;
  if (found_ == mbuf) found_ = nullptr;
  // Each packet is passed over once in the life of the queue, so this stays linear.
  if (first_read_ == mbuf) seek_first_read(held.next);
  // Custody is as old as the round trip is long, and cold. The next packet was fetched by the pop before; now the one
  // after it.
  if (head_ != nullptr)
    if (rte_mbuf* after = held_in(head_).next) {
      rte_prefetch0(after);
      rte_prefetch0(&held_in(after));
    }
  --packets_;
  bytes_ -= mbuf->pkt_len;
  if (!held.small) --large_mbufs_;
  return mbuf;
}

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

void PacketQueue::rewind_to(rte_mbuf* mbuf) {
  for (const rte_mbuf* sent = mbuf; sent != unsent_; sent = held_in(sent).next) --under_way_;
  unsent_ = mbuf;
}

void PacketQueue::seek_first_read(rte_mbuf* from) {
  while (from != nullptr && !held_in(from).wants_response) from = held_in(from).next;
  first_read_ = from;
}

}  // namespace longhaul::custody
