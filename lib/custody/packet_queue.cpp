// SPDX-License-Identifier: BSD-3-Clause
#include "custody/packet_queue.hpp"

#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_le;
using wire::psn_lt;

bool PacketQueue::spans(std::uint32_t psn) const {
  return head_ != nullptr && psn_le(held_in(head_).psn, psn) && psn_le(psn, held_in(tail_).last_psn);
}

rte_mbuf* PacketQueue::find(std::uint32_t psn, const PacketIndex& index, std::uint32_t flow) const {
  if (!spans(psn)) return nullptr;
  const auto contains = [psn](const rte_mbuf* mbuf) {
    return psn_le(held_in(mbuf).psn, psn) && psn_le(psn, held_in(mbuf).last_psn);
  };
  if (rte_mbuf* read = first_read(); read != nullptr && contains(read)) return read;
  const bool in_first_block = PacketIndex::block_of(psn) == PacketIndex::block_of(held_in(head_).psn);
  rte_mbuf* mbuf = in_first_block ? head_ : index.find(flow, psn);
  while (mbuf != nullptr && psn_lt(held_in(mbuf).last_psn, psn)) mbuf = held_in(mbuf).next;
  return mbuf != nullptr && contains(mbuf) ? mbuf : nullptr;
}

void PacketQueue::skip_to(rte_mbuf* mbuf) {
  unsent_ = mbuf;
  under_way_ = mbuf == nullptr ? packets_ : packets_before(mbuf);
}

// Those that a port accepted before one that it had refused follow behind.
rte_mbuf* PacketQueue::newest_sent() const {
  rte_mbuf* newest = newest_sent_;
  for (rte_mbuf* next = newest == nullptr ? head_ : held_in(newest).next; next != nullptr && held_in(next).sent;
       next = held_in(next).next)
    newest = next;
  return newest;
}

void PacketQueue::skip_sent() {
  rte_mbuf* const newest = newest_sent();
  if (unsent_ == nullptr || newest == nullptr) return;
  if (psn_le(held_in(unsent_).psn, held_in(newest).psn)) skip_to(held_in(newest).next);
}

rte_mbuf* PacketQueue::cut_after(const rte_mbuf* last) {
  rte_mbuf* rest = last == nullptr ? head_ : held_in(last).next;
  const rte_mbuf* first_cut_read = nullptr;
  for (rte_mbuf* mbuf = rest; mbuf != nullptr; mbuf = held_in(mbuf).next) {
    if (unsent_ == mbuf) unsent_ = nullptr;
    if (to_acknowledge_ == mbuf) to_acknowledge_ = nullptr;
    if (first_cut_read == nullptr && held_in(mbuf).wants_response) first_cut_read = mbuf;
    --packets_;
    bytes_ -= mbuf->pkt_len;
  }
  if (first_cut_read != nullptr) cut_reads(first_cut_read);
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

// ---- READs and atomics, in a ring from the last one to the first ------------------------------

unsigned PacketQueue::reads() const {
  if (last_read_ == nullptr) return 0;
  return static_cast<std::uint16_t>(held_in(last_read_).read_number - held_in(first_read()).read_number) + 1u;
}

void PacketQueue::append_read(rte_mbuf* mbuf) {
  Held& held = held_in(mbuf);
  if (last_read_ == nullptr) {
    held.next_read = mbuf;
    held.read_number = 0;
  } else {
    Held& last = held_in(last_read_);
    held.next_read = last.next_read;
    held.read_number = static_cast<std::uint16_t>(last.read_number + 1);
    last.next_read = mbuf;
  }
  last_read_ = mbuf;
}

// `mbuf` is the first.
void PacketQueue::pop_read(const rte_mbuf* mbuf) {
  if (mbuf == last_read_)
    last_read_ = nullptr;
  else
    held_in(last_read_).next_read = held_in(mbuf).next_read;
}

void PacketQueue::cut_reads(const rte_mbuf* first_cut) {
  rte_mbuf* const first = first_read();
  if (first == first_cut) {
    last_read_ = nullptr;
    return;
  }
  rte_mbuf* last = first;
  while (held_in(last).next_read != first_cut) last = held_in(last).next_read;
  held_in(last).next_read = first;
  last_read_ = last;
}

}  // namespace longhaul::custody
