// SPDX-License-Identifier: BSD-3-Clause
// The DREQs of one connection that wait for its custody (design section 6), oldest first, linked through their mbufs.
// Those are copies: 14,000 connections that close at once must not keep 14,000 receive buffers.
// Communication IDs tell genuine DREQs from forged ones. They are not known for a connection learned from traffic, so
// several DREQs may have to wait, each for its own time.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "base/time.hpp"
#include "custody/held.hpp"

namespace longhaul::engine {

class HeldDreqs {
 public:
  static constexpr unsigned kMost = 4;

  bool empty() const { return first_ == nullptr; }
  bool full() const { return count_ == kMost; }
  unsigned count() const { return count_; }
  /// When the oldest goes, custody or not.
  Time deadline() const { return empty() ? kNever : waiting_in(first_).deadline; }

  /// A DREQ from `sender` (its communication ID) waits, or was the last to be released: CM repeats a DREQ that was not
  /// answered, and the repeat goes after the first.
  bool waits(std::uint32_t sender) const {
    for (rte_mbuf* mbuf = first_; mbuf != nullptr; mbuf = waiting_in(mbuf).next)
      if (waiting_in(mbuf).sender == sender) return true;
    return false;
  }
  bool was_released(std::uint32_t sender) const { return released_any_ && released_ == sender; }

  /// Takes over `mbuf`, a copy of the DREQ. Do not call it when full.
  void add(rte_mbuf* mbuf, std::uint32_t sender, Time deadline) {
    waiting_in(mbuf) = {.deadline = deadline, .sender = sender};
    rte_mbuf** end = &first_;
    while (*end != nullptr) end = &waiting_in(*end).next;
    *end = mbuf;
    ++count_;
  }

  /// Removes the oldest; the reference is the caller's.
  rte_mbuf* pop() {
    rte_mbuf* mbuf = first_;
    first_ = waiting_in(mbuf).next;
    --count_;
    released_ = waiting_in(mbuf).sender;
    released_any_ = true;
    return mbuf;
  }

  /// Drops all of them unsent. Returns how many there were.
  unsigned discard() {
    const unsigned discarded = count_;
    while (first_ != nullptr) {
      rte_mbuf* next = waiting_in(first_).next;
      rte_pktmbuf_free(first_);
      first_ = next;
    }
    count_ = 0;
    return discarded;
  }

 private:
  /// Lives in the mbuf's private area, where a packet in custody has its custody::Held.
  struct Waiting {
    rte_mbuf* next = nullptr;
    Time deadline = 0;
    std::uint32_t sender = 0;  ///< communication ID
  };
  static_assert(sizeof(Waiting) <= custody::kMbufPrivateSize);
  static Waiting& waiting_in(rte_mbuf* mbuf) { return *static_cast<Waiting*>(rte_mbuf_to_priv(mbuf)); }

  rte_mbuf* first_ = nullptr;
  std::uint32_t released_ = 0;
  std::uint8_t count_ = 0;
  bool released_any_ = false;
};

}  // namespace longhaul::engine
