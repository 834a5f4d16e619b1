// SPDX-License-Identifier: BSD-3-Clause
// The packets of one flow in custody, in PSN order, linked through their mbufs, with three cursors:
//
//   head ......... to_acknowledge ......... unsent ......... tail
//   oldest         next to look at for      next to send     newest
//   unanswered     a pseudo-ACK             (again)
//
// A resend puts `unsent` back to head; new packets then queue behind it by themselves.
#pragma once

#include <rte_prefetch.h>

#include <cstdint>

#include "custody/held.hpp"

namespace longhaul::custody {

class PacketQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  std::uint64_t packets() const { return packets_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Packets before `unsent`: sent since the last rewind.
  std::uint64_t under_way() const { return under_way_; }

  rte_mbuf* head() const { return head_; }
  rte_mbuf* newest() const { return tail_; }
  rte_mbuf* unsent() const { return unsent_; }
  rte_mbuf* to_acknowledge() const { return to_acknowledge_; }
  /// The oldest READ or atomic request; nothing behind it may be acknowledged. Null when there is none.
  rte_mbuf* first_read() const { return first_read_; }

  /// Takes over one reference to `mbuf`, whose Held is filled in except for `next`.
  void append(rte_mbuf* mbuf) {
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
  }

  /// Removes the head and returns it; the caller owns the reference.
  rte_mbuf* pop() {
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
    prefetch_behind(head_);
    --packets_;
    bytes_ -= mbuf->pkt_len;
    return mbuf;
  }

  /// Removes everything behind `last`, or everything when `last` is null. `last` and all before it were sent. Returns
  /// the first packet removed, or null when there was none; the caller owns the references.
  rte_mbuf* cut_after(const rte_mbuf* last);

  /// Fetches what pop() will need after `mbuf` (may be null), which was fetched before. Custody is a round trip old, so
  /// no cache has it.
  static void prefetch_behind(const rte_mbuf* mbuf) {
    if (mbuf == nullptr) return;
    if (const rte_mbuf* after = held_in(mbuf).next) prefetch(after);
  }
  static void prefetch(const rte_mbuf* mbuf) {
    rte_prefetch0(mbuf);
    rte_prefetch0(&held_in(mbuf));
  }

  void mark_sent() {
    unsent_ = held_in(unsent_).next;
    ++under_way_;
  }
  void mark_examined() { to_acknowledge_ = held_in(to_acknowledge_).next; }

  /// Sends everything again from the head on.
  void rewind() {
    unsent_ = head_;
    under_way_ = 0;
  }
  /// Undoes a rewind: packets before `psn` count as sent.
  void skip_to(std::uint32_t psn);
  /// Undoes a rewind up to the first packet that was never sent.
  void skip_sent() {
    while (unsent_ != nullptr && held_in(unsent_).sent) mark_sent();
  }
  /// The port refused `mbuf`, which had been handed to it: sending goes on from there.
  void rewind_to(rte_mbuf* mbuf);

  /// The packet whose PSN range contains `psn`, or null. Walks from the last one found, from
  /// to_acknowledge or from the head, so that a run of repeats costs one step each.
  rte_mbuf* find(std::uint32_t psn);

 private:
  void seek_first_read(rte_mbuf* from);

  rte_mbuf* head_ = nullptr;
  rte_mbuf* tail_ = nullptr;
  rte_mbuf* unsent_ = nullptr;
  rte_mbuf* to_acknowledge_ = nullptr;
  rte_mbuf* first_read_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint32_t packets_ = 0;
  std::uint32_t under_way_ = 0;
  rte_mbuf* found_ = nullptr;  ///< by the last find(); null when it has been popped since
};

}  // namespace longhaul::custody
