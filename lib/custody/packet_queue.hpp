// SPDX-License-Identifier: BSD-3-Clause
// The packets of one flow in custody, in PSN order, linked through their mbufs, with three cursors:
//
//   head ......... to_acknowledge ......... unsent ......... tail
//   oldest         next to look at for      next to send     newest
//   unanswered     a pseudo-ACK             (again)
//
// A resend puts `unsent` back to head; new packets then queue behind it by themselves. READs and atomics are linked in
// a ring of their own, from the last to the first.
//
// No call takes longer because more packets are held, except that each packet is walked over once when it goes.
#pragma once

#include <rte_prefetch.h>

#include <cstdint>

#include "custody/held.hpp"
#include "custody/packet_index.hpp"
#include "wire/psn.hpp"

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
  rte_mbuf* first_read() const { return last_read_ == nullptr ? nullptr : held_in(last_read_).next_read; }
  /// How many READs and atomics there are.
  unsigned reads() const;
  /// The newest of the packets that ports have accepted without a gap, or null.
  rte_mbuf* newest_sent() const;
  /// The packets before `mbuf`, which is in the queue.
  std::uint32_t packets_before(const rte_mbuf* mbuf) const { return held_in(mbuf).number - held_in(head_).number; }

  /// Takes over one reference to `mbuf`, whose Held is filled in except for what links it to others. Returns true when
  /// it may be the first packet of its block. Then it belongs into the PacketIndex, if the block has no other there.
  bool append(rte_mbuf* mbuf) {
    const bool begins_block = link(mbuf);
    if (unsent_ == nullptr) unsent_ = mbuf;
    if (held_in(mbuf).wants_response) append_read(mbuf);
    return begins_block;
  }
  /// append(), then mark_sent(): for neither a READ nor an atomic, where unsent() is null.
  bool append_sent(rte_mbuf* mbuf) {
    ++under_way_;
    return link(mbuf);
  }

  /// Removes the head and returns it; the caller owns the reference, and removes it from the PacketIndex.
  rte_mbuf* pop() {
    rte_mbuf* mbuf = unlink_head();
    const Held& held = held_in(mbuf);
    if (unsent_ == mbuf)
      unsent_ = held.next;
    else
      --under_way_;
    if (to_acknowledge_ == mbuf) to_acknowledge_ = held.next;
    if (held.wants_response) pop_read(mbuf);
    return mbuf;
  }
  /// pop(), where unsent() is null, and the head is neither to_acknowledge() nor a READ or atomic.
  [[gnu::always_inline]] rte_mbuf* pop_usual() {
    --under_way_;
    return unlink_head();
  }

  /// Removes everything behind `last`, or everything when `last` is null. `last` and all before it were sent. Returns
  /// the first packet removed, or null when there was none; the caller owns the references, and removes the packets
  /// from the PacketIndex.
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
  /// A port has accepted `mbuf` for the first time. A port that refuses one packet may accept the next.
  void mark_accepted(rte_mbuf* mbuf) {
    if (unsent_ == nullptr || wire::psn_lt(held_in(mbuf).psn, held_in(unsent_).psn)) [[likely]]
      newest_sent_ = mbuf;
  }
  void mark_examined() { to_acknowledge_ = held_in(to_acknowledge_).next; }

  /// Sends everything again from the head on.
  void rewind() {
    unsent_ = head_;
    under_way_ = 0;
  }
  /// Undoes a rewind: all before `mbuf` counts as sent. Null: everything does.
  void skip_to(rte_mbuf* mbuf);
  /// Undoes a rewind up to the first packet that was never sent.
  void skip_sent();
  /// The port refused `mbuf`, which had been handed to it: sending goes on from there.
  void rewind_to(rte_mbuf* mbuf);

  /// The packet whose PSNs contain `psn`, or null. Of READs that begin in an earlier block than `psn`, only the first
  /// is found: a requester repeats a READ from the middle only when it has had all answers before.
  rte_mbuf* find(std::uint32_t psn, const PacketIndex& index, std::uint32_t flow) const;
  /// `psn` lies between head and tail.
  bool spans(std::uint32_t psn) const;

 private:
  [[gnu::always_inline]] bool link(rte_mbuf* mbuf) {
    Held& held = held_in(mbuf);
    bool begins_block = false;
    if (tail_ != nullptr) [[likely]] {
      Held& before = held_in(tail_);
      before.next = mbuf;
      held.number = before.number + 1;
      begins_block = PacketIndex::begins_block(held.psn) || before.wants_response;
    } else {
      head_ = mbuf;
    }
    tail_ = mbuf;
    if (to_acknowledge_ == nullptr) to_acknowledge_ = mbuf;
    ++packets_;
    bytes_ += mbuf->pkt_len;
    return begins_block;
  }
  [[gnu::always_inline]] rte_mbuf* unlink_head() {
    rte_mbuf* mbuf = head_;
    head_ = held_in(mbuf).next;
    if (head_ == nullptr) tail_ = nullptr;
    if (newest_sent_ == mbuf) newest_sent_ = nullptr;
    prefetch_behind(head_);
    --packets_;
    bytes_ -= mbuf->pkt_len;
    return mbuf;
  }
  [[gnu::noinline]] void append_read(rte_mbuf* mbuf);
  [[gnu::noinline]] void pop_read(const rte_mbuf* mbuf);
  void cut_reads(const rte_mbuf* first_cut);

  rte_mbuf* head_ = nullptr;
  rte_mbuf* tail_ = nullptr;
  rte_mbuf* unsent_ = nullptr;
  rte_mbuf* to_acknowledge_ = nullptr;
  rte_mbuf* last_read_ = nullptr;
  rte_mbuf* newest_sent_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint32_t packets_ = 0;
  std::uint32_t under_way_ = 0;
};

}  // namespace longhaul::custody
